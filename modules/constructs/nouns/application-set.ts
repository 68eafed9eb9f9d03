import type { ITerraformDependable } from "cdktf";
import { Construct } from "constructs";
import { ApplicationSet, type ApplicationSetConfig } from "../bindings/application-set.ts";
import { asJson } from "../text.ts";
import type { IAgent } from "./agent.ts";
import type { IAppProject } from "./app-project.ts";

/** `metadata` and `spec` of each application, as in `argoproj.io/v1alpha1`, with parameters in its texts. */
export interface ApplicationTemplateProps {
  readonly metadata: { readonly name: string; readonly [field: string]: unknown };
  readonly spec: Record<string, unknown>;
}

/** Beside these every argument of `outpost_application_set`: `strategy`, `syncPolicy`, `preservedFields`, … */
export interface OutpostApplicationSetProps
  extends Omit<ApplicationSetConfig, "id" | "agent" | "generators" | "template"> {
  /** Id of the set; immutable. */
  readonly applicationSetId: string;
  /** Agent that makes the applications. */
  readonly agent: IAgent;
  /** One of `list`, `clusters`, `git`, `matrix`, `merge`, `pullRequest`, `scmProvider`, `clusterDecisionResource` and `plugin` each. */
  readonly generators: Record<string, unknown>[];
  /** `spec.project` may be left out with `appProject`. */
  readonly template: ApplicationTemplateProps;
  /** The project that the applications belong to. */
  readonly appProject?: IAppProject;
}

/** One template, and an application for each set of parameters that the generators give. Its creation ends when all are Synced and Healthy. */
export class OutpostApplicationSet extends Construct {
  readonly applicationSet: ApplicationSet;

  constructor(scope: Construct, id: string, props: OutpostApplicationSetProps) {
    super(scope, id);
    const { applicationSetId, agent, appProject, generators, template, ...rest } = props;
    const spec = { ...(appProject && { project: appProject.argoName }), ...template.spec };
    this.applicationSet = new ApplicationSet(this, "application-set", {
      ...rest,
      id: applicationSetId,
      agent: agent.agentId,
      generators: generators.map(asJson),
      template: asJson({ ...template, spec }),
      // Destroyed before what its applications need: the agent must be there to remove their objects.
      dependsOn: [...agent.ready, ...(appProject?.ready ?? []), ...(props.dependsOn ?? [])],
    });
  }

  get ready(): ITerraformDependable[] {
    return [this.applicationSet];
  }
}
