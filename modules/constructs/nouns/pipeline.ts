import type { ITerraformDependable } from "cdktf";
import { Construct } from "constructs";
import {
  Pipeline,
  type PipelineInputs,
  type PipelineStepsApproval,
  type PipelineStepsTask,
} from "../bindings/pipeline.ts";
import { asJson, plain } from "../text.ts";

/** A task as the provider takes it, with its parameters as an object. */
export interface PipelineTaskProps extends Omit<PipelineStepsTask, "params"> {
  /** Parameters of the kind. `${inputs.NAME}` and `${steps.ID.outputs.NAME}` are written as they are: Terraform is kept from reading them. */
  readonly params: Record<string, unknown>;
}

/** One step: a task or an approval. */
export interface PipelineStepProps {
  readonly id: string;
  /**
   * Steps that must have ended first; with an empty list it starts at once.
   * @default the step before
   */
  readonly needs?: string[];
  /**
   * `success`, `failure` or `always`.
   * @default success
   */
  readonly when?: string;
  /** Left out unless this holds, as `${inputs.stage} == 'prod'`. */
  readonly condition?: string;
  readonly task?: PipelineTaskProps;
  readonly approval?: PipelineStepsApproval;
}

export interface OutpostPipelineProps {
  /** Id of the pipeline; immutable. */
  readonly pipelineId: string;
  readonly org?: string;
  readonly project?: string;
  /** Name for people. */
  readonly displayName?: string;
  readonly description?: string;
  readonly inputs?: Record<string, PipelineInputs>;
  /**
   * Of a whole run.
   * @default 86400, a day
   */
  readonly timeoutSeconds?: number;
  readonly steps: PipelineStepProps[];
}

/** Steps that delegates run as tasks, one after another or side by side. */
export class OutpostPipeline extends Construct {
  readonly pipeline: Pipeline;

  constructor(scope: Construct, id: string, props: OutpostPipelineProps) {
    super(scope, id);
    const { pipelineId, displayName, steps, ...rest } = props;
    for (const step of steps)
      if (!step.task === !step.approval)
        throw new Error(`${this.node.path}: give step ${step.id} exactly one of task and approval`);
    this.pipeline = new Pipeline(this, "pipeline", {
      ...rest,
      id: pipelineId,
      name: displayName,
      steps: steps.map(({ condition, task, approval, ...step }) => ({
        ...step,
        condition: condition === undefined ? undefined : plain(condition),
        task: task && {
          ...task,
          name: task.name === undefined ? undefined : plain(task.name),
          params: asJson(task.params),
        },
        approval: approval && {
          ...approval,
          message: approval.message === undefined ? undefined : plain(approval.message),
        },
      })),
    });
  }

  get pipelineId(): string {
    return this.pipeline.id;
  }

  get ready(): ITerraformDependable[] {
    return [this.pipeline];
  }
}
