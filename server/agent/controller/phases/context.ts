import type { Failure } from "../../../base/outcome.ts";
import { instanceOf } from "../../project/instance.ts";
import type { Freshness } from "../../repo/types.ts";
import type { Application } from "../application.ts";
import type { Deps, Next } from "../deps.ts";
import type { Destination } from "../destination.ts";
import { type Memory, remember, type Wanted } from "../memory.ts";
import type { Observed } from "../status/observed.ts";
import type { Report } from "../status/report.ts";

/** One look at one application: what every phase works with. */
export interface Look {
  readonly deps: Deps;
  readonly app: Application;
  /** Its key in all stores. */
  readonly name: string;
  readonly memory: Memory;
  readonly report: Report;
}

/** A look that knows its cluster. */
export interface Placed extends Look {
  readonly destination: Destination;
}

/** A look that knows what Git says, and how it was asked. */
export interface Fetched extends Placed {
  readonly wanted: Wanted;
  readonly freshness: Freshness;
}

/** A look after the cluster was observed. */
export interface Seen extends Fetched {
  readonly seen: Observed;
  /** Kinds that cannot be seen. */
  readonly unseen: ReadonlyMap<string, Failure>;
}

/** The result of a phase: the input of the next one, or the end of this reconciliation and when the next one is due. */
export type Step<T> =
  | { readonly kind: "go"; readonly value: T }
  | { readonly kind: "end"; readonly next: Next | undefined };

export const go = <T>(value: T): Step<T> => ({ kind: "go", value });
export const end = (next?: Next): Step<never> => ({ kind: "end", next });

export function lookAt(deps: Deps, app: Application, report: Report): Look {
  const name = instanceOf(app, deps.namespace);
  return { deps, app, name, memory: remember(deps, name), report };
}

/** The time in whole seconds, as Kubernetes writes it. */
export const timeOf = ({ now }: Deps): string => new Date(now()).toISOString().replace(/\.\d+/, "");
