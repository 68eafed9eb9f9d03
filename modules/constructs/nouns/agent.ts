import { conditional, type IResolvable, type ITerraformDependable, Op, Token } from "cdktf";
import { Construct } from "constructs";
import { Agent } from "../bindings/agent.ts";
import { EphemeralAgentToken } from "../bindings/ephemeral-agent-token.ts";
import { given, type WorkerInstallProps, WorkerRelease } from "../worker.ts";

/** An agent that others refer to. */
export interface IAgent {
  /** Its id, as references write it. */
  readonly agentId: string;
  /** What must stand before the agent can do anything, and must fall after what it keeps. */
  readonly ready: ITerraformDependable[];
}

export interface OutpostAgentProps extends WorkerInstallProps {
  /** Id of the agent in the service; immutable. */
  readonly agentId: string;
  readonly org?: string;
  readonly project?: string;
  /** Name for people. */
  readonly displayName?: string;
  readonly description?: string;
  /**
   * Namespace in which the agent runs and keeps its configuration.
   * @default outpost-agent
   */
  readonly namespace?: string;
  /**
   * What keeps applications equal to Git. `outpost`: the agent's own controller and repo server. `argocd`: an Argo CD that runs in `namespace`;
   * then only the link and a reader are installed.
   * @default outpost
   */
  readonly engine?: string;
  /**
   * `split`: agent, controller, repo server and Redis as four Deployments. `all`: one Deployment.
   * @default split
   */
  readonly mode?: string;
  /**
   * `cluster`: the agent may manage every namespace. `namespaced`: only its own.
   * @default cluster
   */
  readonly access?: string;
  /** Account of the agent; written on the objects. */
  readonly account?: string;
  /**
   * Whether the definitions of argoproj.io, and so every Application in the cluster, stay when the stack goes. Say true when
   * several agents share a cluster.
   * @default false
   */
  readonly keepCrds?: boolean | IResolvable;
  /**
   * Controllers that share the applications, each a Deployment of its own; in the mode `split`.
   * @default 1
   */
  readonly shards?: number;
  /**
   * What stays together on one shard: `application`, or `cluster` for all applications of one.
   * @default application
   */
  readonly shardBy?: string;
  /**
   * Other namespaces in which there may be Applications and ApplicationSets: names, globs and `/expressions/`. A project must name them too.
   * @default none
   */
  readonly applicationNamespaces?: string[];
  /**
   * The only hosts that application sets may ask for repositories and pull requests.
   * @default all
   */
  readonly scmProviders?: string[];
}

/** An agent in the service and in the cluster: registered, installed, enrolled, connected. */
export class OutpostAgent extends Construct implements IAgent {
  /** An agent that was made elsewhere. */
  static fromAgentId(agentId: string): IAgent {
    return { agentId, ready: [] };
  }

  readonly agent: Agent;
  readonly token: EphemeralAgentToken;
  readonly install: WorkerRelease;

  constructor(scope: Construct, id: string, props: OutpostAgentProps) {
    super(scope, id);
    const namespace = props.namespace ?? "outpost-agent";
    const { org, project } = props;
    this.agent = new Agent(this, "agent", {
      id: props.agentId,
      org,
      project,
      name: props.displayName,
      description: props.description,
      mode: props.access ?? "cluster",
      ...given("engine", props.engine),
      namespace,
    });
    // The uid is known only when the agent exists, so that a plan before that opens no token.
    this.token = new EphemeralAgentToken(this, "token", {
      agent: this.agent.id,
      org,
      project,
      uid: this.agent.uid,
      // Each plan opens one; those that the agent has not enrolled with end with it.
      revokeOnClose: true,
    });
    this.install = new WorkerRelease(this, "install", {
      ...props,
      name: "outpost-agent",
      namespace,
      bundled: "outpost-agent",
      token: this.token.token,
      own: {
        agent: {
          id: this.agent.id,
          ...given("account", props.account),
          ...given("org", org),
          ...given("project", project),
        },
        ...given("engine", engineValue(props.engine)),
        mode: props.mode ?? "split",
        namespaced: Token.isUnresolved(props.access)
          ? Op.eq(props.access, "namespaced")
          : props.access === "namespaced",
        crds: { keep: props.keepCrds ?? false },
        ...(props.shards === undefined && props.shardBy === undefined
          ? {}
          : { controller: { ...given("shards", props.shards), ...given("shardBy", props.shardBy) } }),
        ...given("applicationNamespaces", props.applicationNamespaces),
        ...given("scmProviders", props.scmProviders),
      },
    });
  }

  get agentId(): string {
    return this.agent.id;
  }

  get ready(): ITerraformDependable[] {
    return this.install.ready;
  }
}

/** The chart's word: beside Argo CD there is none of ours. */
function engineValue(engine: string | undefined): string | undefined {
  if (engine === undefined) return undefined;
  if (Token.isUnresolved(engine)) return Token.asString(conditional(Op.eq(engine, "argocd"), "none", "outpost"));
  return engine === "argocd" ? "none" : "outpost";
}
