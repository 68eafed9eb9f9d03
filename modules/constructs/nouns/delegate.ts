import { Fn, Op } from "cdktf";
import { Construct } from "constructs";
import { Delegate } from "../bindings/delegate.ts";
import { EphemeralDelegateToken } from "../bindings/ephemeral-delegate-token.ts";
import { releaseName } from "../charts.ts";
import { given, type WorkerInstallProps, WorkerRelease } from "../worker.ts";

export interface OutpostDelegateProps extends WorkerInstallProps {
  /** Id of the delegate in the service; immutable. */
  readonly delegateId: string;
  readonly org?: string;
  readonly project?: string;
  /** Name for people. */
  readonly displayName?: string;
  readonly description?: string;
  /** Selectors of tasks choose by these. */
  readonly tags?: string[];
  /**
   * Tasks that one replica runs at the same time.
   * @default 10
   */
  readonly capacity?: number;
  /** @default outpost-delegate */
  readonly namespace?: string;
  /** @default 1 */
  readonly replicas?: number;
  /**
   * With more than 0 an autoscaler chooses between `replicas` and this.
   * @default 0
   */
  readonly maxReplicas?: number;
  /**
   * What tasks may do with the delegate's own in-cluster credentials: `none`, `namespace-admin`, `cluster-viewer`,
   * `cluster-admin`, or `custom`, which takes `clusterRole`.
   * @default none
   */
  readonly permissions?: string;
  readonly clusterRole?: string;
  /** Shell script that runs before each replica starts; what it puts into `$TOOLS/bin` is on the PATH of tasks. */
  readonly initScript?: string;
  /** The delegate's settings file, YAML: sources of secrets, bounds of tasks. */
  readonly config?: string;
  /**
   * Names of Secrets of the namespace that tasks may refer to as `${secret:file/NAME/KEY}`. Tasks of the delegate's own scope may; with
   * `sources.file.paths` in `config` those of scopes below may too.
   */
  readonly secretsFrom?: string[];
  /** Secret of the namespace with the proxy's `username` and `password`. */
  readonly proxySecret?: string;
  /**
   * How long replicas can enrol with the token, as `24h`; it can be revoked before.
   * @default 87600h, ten years
   */
  readonly tokenExpiresIn?: string;
  /** Account of the delegate. */
  readonly account?: string;
}

/** A delegate in the service and in the cluster: registered, installed, enrolled, ready for tasks. */
export class OutpostDelegate extends Construct {
  readonly delegate: Delegate;
  readonly token: EphemeralDelegateToken;
  readonly install: WorkerRelease;

  constructor(scope: Construct, id: string, props: OutpostDelegateProps) {
    super(scope, id);
    const { org, project, tags } = props;
    this.delegate = new Delegate(this, "delegate", {
      id: props.delegateId,
      org,
      project,
      name: props.displayName,
      description: props.description,
      tags,
      capacity: props.capacity,
    });
    // The uid is known only when the delegate exists, so that a plan before that opens no token.
    this.token = new EphemeralDelegateToken(this, "token", {
      delegate: this.delegate.id,
      org,
      project,
      uid: this.delegate.uid,
      // Each replica enrols with it when it starts, also one that starts next year.
      expiresIn: props.tokenExpiresIn ?? "87600h",
      // Each plan opens one; those that no replica has enrolled with end with it.
      revokeOnClose: true,
    });
    this.install = new WorkerRelease(this, "install", {
      ...props,
      name: releaseName("outpost-delegate", props.delegateId),
      namespace: props.namespace ?? "outpost-delegate",
      bundled: "outpost-delegate",
      token: this.token.token,
      own: {
        delegate: {
          name: this.delegate.id,
          ...given("account", props.account),
          ...given("org", org),
          ...given("project", project),
          ...given("description", props.description),
          ...given("tags", tags),
        },
        replicas: props.replicas ?? 1,
        ...autoscaling(props),
        ...given("initScript", props.initScript),
        ...(props.config === undefined ? {} : { config: Fn.yamldecode(props.config) }),
        ...given("secretsFrom", props.secretsFrom),
        permissions: { level: props.permissions ?? "none", ...given("clusterRole", props.clusterRole) },
      },
    });
  }

  get delegateId(): string {
    return this.delegate.id;
  }
}

function autoscaling({ maxReplicas, replicas = 1 }: OutpostDelegateProps): object {
  if (maxReplicas === undefined) return {};
  // The chart wants at least one, also where it is off. Not `gt` with 0, which cdktf writes as undefined.
  return {
    autoscaling: {
      enabled: Op.gte(maxReplicas, 1),
      minReplicas: Fn.max([1, replicas]),
      maxReplicas: Fn.max([1, maxReplicas]),
    },
  };
}
