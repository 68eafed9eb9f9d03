import type { ITerraformDependable } from "cdktf";
import { Construct } from "constructs";
import { Cluster } from "../bindings/cluster.ts";
import type { IAgent } from "./agent.ts";
import type { IAppProject } from "./app-project.ts";

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
  /** An EKS cluster, where the agent signs in with its own identity in AWS or with a role. */
  readonly awsAuth?: ClusterAwsAuthProps;
  /** A program of the agent's image that prints a token, if the agent's operator allows it. */
  readonly exec?: ClusterExecProps;
  /** Name that the server's certificate must have. */
  readonly serverName?: string;
  /** Proxy to the API server, without credentials. */
  readonly proxyUrl?: string;
  /** Any value; change it to send new credentials. */
  readonly credentialsVersion?: string;
}

export interface ClusterAwsAuthProps {
  readonly clusterName: string;
  readonly roleArn?: string;
  readonly profile?: string;
}

export interface ClusterExecProps {
  readonly command: string;
  readonly args?: string[];
  readonly env?: Record<string, string>;
  readonly apiVersion?: string;
  readonly installHint?: string;
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
      throw new Error(
        `${this.node.path}: credentials are write-only, so say credentialsVersion, whose change sends new ones`,
      );
    }
    const ways = Object.entries({ awsAuth: props.awsAuth, exec: props.exec, bearerToken }).filter(
      ([, given]) => given !== undefined,
    );
    if (ways.length > 1)
      throw new Error(`${this.node.path}: give only one of ${ways.map(([name]) => name).join(" and ")}`);
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
