import { type ITerraformDependable, Token } from "cdktf";
import { Construct } from "constructs";
import { ArgoProjectMapping, type ArgoProjectMappingConfig } from "../bindings/argo-project-mapping.ts";
import type { IAgent } from "./agent.ts";

/** Beside these every argument of `outpost_argo_project_mapping`. `org` and `project` are the scope of the agent. */
export interface OutpostArgoProjectMappingProps extends Omit<ArgoProjectMappingConfig, "id" | "agent"> {
  /** Id of the mapping; immutable. */
  readonly mappingId: string;
  /** Agent that discovers the objects, in the same scope as the mapping. */
  readonly agent: IAgent;
}

/** Shows the discovered objects of an Argo CD project in an organization or a project, instead of the agent's scope. */
export class OutpostArgoProjectMapping extends Construct {
  readonly mapping: ArgoProjectMapping;

  constructor(scope: Construct, id: string, props: OutpostArgoProjectMappingProps) {
    super(scope, id);
    const { mappingId, agent, ...rest } = props;
    if (rest.targetOrg === undefined && rest.org === undefined)
      throw new Error(`${this.node.path}: give targetOrg, the organization to show the objects in`);
    const elsewhere =
      ![rest.org, rest.targetOrg].some((one) => one === undefined || Token.isUnresolved(one)) &&
      rest.org !== rest.targetOrg;
    if (elsewhere) throw new Error(`${this.node.path}: targetOrg must be ${rest.org}, the organization of the agent`);
    this.mapping = new ArgoProjectMapping(this, "mapping", {
      ...rest,
      id: mappingId,
      agent: agent.agentId,
      dependsOn: [...agent.ready, ...(props.dependsOn ?? [])],
    });
  }

  get ready(): ITerraformDependable[] {
    return [this.mapping];
  }
}
