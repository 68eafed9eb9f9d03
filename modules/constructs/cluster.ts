import type { ITerraformDependable } from "cdktf";
import { Construct } from "constructs";
import type { IAgent } from "./agent.ts";
import type { IAppProject } from "./app-project.ts";
import { Cluster } from "./bindings/cluster.ts";

/** A cluster that applications are deployed to. */
export interface ICluster {
  readonly clusterId: string;
  readonly ready: ITerraformDependable[];
}

export interface OutpostClusterProps {
  /** Id of the cluster; immutable. */
  readonly clusterId: string;
  readonly org?: string;
  readonly project?: string;
  /** Agent that manages it. */
  readonly agent: IAgent;
  /**
   * Address of the API server.
   * @default https://kubernetes.default.svc, the agent's own cluster
   */
  readonly server?: string;
  /** Namespaces that may be managed; none means all. */
  readonly namespaces?: string[];
  /** Only applications of this project may use it. */
  readonly appProject?: IAppProject;
  /** Certificate authority, PEM. */
  readonly caData?: string;
  /** Write-only. Leave it out in the agent's own cluster, where its service account serves. */
  readonly bearerToken?: string;
  /** Any value; change it to send new credentials. */
  readonly credentialsVersion?: string;
}

/** A cluster that an agent keeps equal to Git; by default the one it runs in. */
export class OutpostCluster extends Construct implements ICluster {
  /** A cluster that was made elsewhere. */
  static fromClusterId(clusterId: string): ICluster {
    return { clusterId, ready: [] };
  }

  readonly cluster: Cluster;

  constructor(scope: Construct, id: string, props: OutpostClusterProps) {
    super(scope, id);
    const { clusterId, agent, appProject, bearerToken, server, ...rest } = props;
    if (bearerToken !== undefined && props.credentialsVersion === undefined) {
      throw new Error(`${this.node.path}: credentials are write-only, so say credentialsVersion, whose change sends new ones`);
    }
    this.cluster = new Cluster(this, "cluster", {
      ...rest,
      id: clusterId,
      agent: agent.agentId,
      server: server ?? "https://kubernetes.default.svc",
      ...(bearerToken !== undefined && { credentials: { bearerToken } }),
      appProject: appProject?.appProjectId,
      dependsOn: [...agent.ready, ...(appProject?.ready ?? [])],
    });
  }

  get clusterId(): string {
    return this.cluster.id;
  }

  get ready(): ITerraformDependable[] {
    return [this.cluster];
  }
}
