import { Construct } from "constructs";
import { Environment, type EnvironmentConfig } from "../bindings/environment.ts";
import type { IAgent } from "./agent.ts";
import type { ICluster } from "./cluster.ts";

/** An environment that applications deploy into. */
export interface IEnvironment {
  readonly environmentId: string;
}

/** Beside these every argument of `outpost_environment`: `name`, `type`, … */
export interface OutpostEnvironmentProps extends Omit<EnvironmentConfig, "id" | "clusters" | "agents"> {
  /** Id of the environment; immutable. */
  readonly environmentId: string;
  /**
   * Registered clusters that belong to it.
   * @default with no `agents` either, applications of every cluster may name it
   */
  readonly clusters?: ICluster[];
  /** Agents whose own cluster belongs to it. */
  readonly agents?: IAgent[];
}

/** Where services run: a column of the matrix of what runs where. */
export class OutpostEnvironment extends Construct implements IEnvironment {
  /** An environment that was made elsewhere, as references write it: `production`, `account.production`. */
  static fromEnvironmentId(environmentId: string): IEnvironment {
    return { environmentId };
  }

  readonly environment: Environment;

  constructor(scope: Construct, id: string, props: OutpostEnvironmentProps) {
    super(scope, id);
    const { environmentId, clusters, agents, ...rest } = props;
    this.environment = new Environment(this, "environment", {
      ...rest,
      id: environmentId,
      clusters: clusters?.map(({ clusterId }) => clusterId),
      agents: agents?.map(({ agentId }) => agentId),
    });
  }

  get environmentId(): string {
    return this.environment.id;
  }
}
