import type { KubeObject } from "../../kube/object.ts";
import type { LabelSelector, RolloutStep, TemplateMetadata } from "../model/generated/types.ts";

export type { LabelSelector, RolloutStep } from "../model/generated/types.ts";

// biome-ignore lint/suspicious/noExplicitAny: a template is an Application with anything in it, and generators are read field by field
export type Free = Record<string, any>;

/** One entry of `spec.generators`: by rights exactly one of them; several count as several entries. */
export interface Generator {
  list?: Free;
  clusters?: Free;
  git?: Free;
  scmProvider?: Free;
  clusterDecisionResource?: Free;
  pullRequest?: Free;
  matrix?: Free;
  merge?: Free;
  plugin?: Free;
  selector?: LabelSelector | null;
}
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

export interface ApplicationTemplate {
  metadata?: TemplateMetadata;
  spec?: Free;
}

export type ApplicationsSync = "sync" | "create-only" | "create-update" | "create-delete";

/** `spec` of an ApplicationSet, as far as this program reads it. */
export interface ApplicationSetSpec {
  goTemplate?: boolean;
  goTemplateOptions?: string[];
  generators?: Generator[];
  template?: ApplicationTemplate;
  templatePatch?: string;
  syncPolicy?: { preserveResourcesOnDeletion?: boolean; applicationsSync?: ApplicationsSync };
  preservedFields?: { annotations?: string[]; labels?: string[] };
  ignoreApplicationDifferences?: { name?: string; jsonPointers?: string[]; jqPathExpressions?: string[] }[];
  strategy?: { type?: string; rollingSync?: { steps?: RolloutStep[] }; deletionOrder?: string };
}

export interface SetCondition {
  type: "ErrorOccurred" | "ParametersGenerated" | "ResourcesUpToDate" | "RolloutProgressing";
  status: "True" | "False" | "Unknown";
  reason: string;
  message: string;
  lastTransitionTime?: string;
}

export type StepStatus = "Waiting" | "Pending" | "Progressing" | "Healthy";

/** How far one application of a rollout is. */
export interface ApplicationStep {
  application: string;
  status: StepStatus;
  /** From 1; "-1" for one that no step names. */
  step: string;
  message: string;
  targetRevisions: string[];
  lastTransitionTime?: string;
}

export interface SetStatus {
  /** Of a set that the service delivered: the delivery that this speaks of. */
  observedGeneration?: number;
  conditions?: SetCondition[];
  applicationStatus?: ApplicationStep[];
  resources?: Free[];
  resourcesCount?: number;
  health?: { status: string; message?: string; lastTransitionTime?: string };
}

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
