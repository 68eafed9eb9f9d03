import type { KubeObject } from "../../kube/object.ts";
import type {
  ApplicationSetSpec,
  ApplicationStep,
  Generator,
  SetStatus,
  TemplateMetadata,
} from "../model/generated/types.ts";

export type {
  ApplicationSetSpec,
  ApplicationStep,
  ApplicationTemplate,
  Generator,
  LabelSelector,
  RolloutStep,
  SetCondition,
  SetStatus,
} from "../model/generated/types.ts";

// biome-ignore lint/suspicious/noExplicitAny: a template is an Application with anything in it, and generators are read field by field
export type Free = Record<string, any>;

export type GeneratorName = Exclude<keyof Generator, "selector">;

/** In the order in which they are looked at. */
export const GENERATORS: readonly GeneratorName[] = [
  "list",
  "clusters",
  "git",
  "scmProvider",
  "clusterDecisionResource",
  "pullRequest",
  "matrix",
  "merge",
  "plugin",
];

export type ApplicationsSync = NonNullable<NonNullable<ApplicationSetSpec["syncPolicy"]>["applicationsSync"]>;
export type StepStatus = ApplicationStep["status"];

export interface ApplicationSet extends KubeObject {
  spec: ApplicationSetSpec;
  status?: SetStatus;
}

/** An Application as a set makes it. */
export interface Generated {
  metadata: TemplateMetadata & { name: string };
  spec: Free;
}

/** Why a set could not be worked on; constants for machines, also the reasons of its conditions. */
export const APPSET = {
  invalid: "ApplicationSetInvalid",
  params: "ApplicationParamsGenerationError",
  template: "RenderTemplateParamsError",
  validation: "ApplicationValidationError",
  generated: "ApplicationSetUpToDate",
  parameters: "ParametersGenerated",
  create: "CreateApplicationError",
  update: "UpdateApplicationError",
  remove: "DeleteApplicationError",
  clash: "ApplicationNameTaken",
  modified: "ApplicationSetModified",
  rolloutRunning: "ApplicationSetRolloutRunning",
  rolloutComplete: "ApplicationSetRolloutComplete",
} as const;
