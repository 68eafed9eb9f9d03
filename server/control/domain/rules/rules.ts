import type { Collection, Schemas } from "../nouns.ts";
import { checkPipeline } from "../pipelines/check.ts";
import type { Fault } from "../problem.ts";
import { setFaults } from "./applicationset.ts";
import { projectFaults } from "./appproject.ts";
import { clusterFaults } from "./cluster.ts";
import { repositoryFaults } from "./repository.ts";
import { trust } from "./trust.ts";

/** What the contract's schema of a noun cannot say. */
export interface NounRules {
  /** What is wrong with a spec that fits its schema. */
  faults?(spec: never): readonly Fault[];
  /** Whether an app project beside it needs it, so that it cannot be deleted; `needed` says so in the message. */
  neededBy?(spec: never, project: Schemas["AppProjectSpec"]): boolean;
  needed?: string;
}

export const RULES: Readonly<Partial<Record<Collection, NounRules>>> = {
  applicationsets: { faults: setFaults },
  appprojects: { faults: projectFaults },
  clusters: { faults: clusterFaults },
  repositories: { faults: repositoryFaults },
  repositorycredentials: { faults: repositoryFaults },
  pipelines: { faults: checkPipeline },
  ...trust,
};
