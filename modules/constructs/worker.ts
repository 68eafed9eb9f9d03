/** What agents and delegates have in common: a release whose token is in neither plan nor state. */
import { Release } from "@cdktf/provider-helm/lib/release/index.js";
import { Fn, type IResolvable, type ITerraformDependable, Token } from "cdktf";
import { Construct } from "constructs";
import { type BundledChart, bundledChart } from "./charts.ts";
import { OutpostKubernetesNamespace } from "./kubernetes-namespace.ts";
import { OutpostNamespace } from "./namespace.ts";

/** Where and how a worker is installed. */
export interface WorkerInstallProps {
  /** Address of the service, as the pods reach it. */
  readonly endpoint: string;
  /**
   * Whether to make the namespace; it then goes with the stack.
   * @default true
   */
  readonly createNamespace?: boolean | IResolvable;
  /**
   * Provider that makes the namespace: `helm`, which the worker needs anyway, or `kubernetes`.
   * @default helm
   */
  readonly namespaceProvider?: string;
  /** Image reference; default: the chart's own. */
  readonly image?: string;
  /** Names of Secrets with registry credentials. */
  readonly imagePullSecrets?: string[];
  readonly httpsProxy?: string;
  /** Comma-separated; added to the cluster's own addresses. */
  readonly noProxy?: string;
  /** Certificate authority of the service, PEM. */
  readonly caBundle?: string;
  /** More Helm values, YAML texts; later ones win. */
  readonly values?: string[];
  /** Path of the worker's chart; default: the bundled one. */
  readonly chart?: string;
  /** Path of the chart `outpost-namespace`; default: the bundled one. */
  readonly namespaceChart?: string;
  /**
   * Seconds to wait until the worker is ready, which it is when it is connected.
   * @default 300
   */
  readonly timeout?: number;
  /**
   * Raise it to enrol with a new token.
   * @default 1
   */
  readonly tokenRevision?: number;
}

export interface WorkerReleaseProps extends WorkerInstallProps {
  readonly name: string;
  readonly namespace: string;
  readonly bundled: BundledChart;
  /** Ephemeral. */
  readonly token: string;
  /** Secret with the proxy's user and password. */
  readonly proxySecret?: string;
  /** Values of this kind of worker. */
  readonly own: object;
}

/** The Helm release of a worker, in a namespace of its own. */
export class WorkerRelease extends Construct {
  readonly release: Release;
  readonly namespace?: OutpostNamespace | OutpostKubernetesNamespace;

  constructor(scope: Construct, id: string, props: WorkerReleaseProps) {
    super(scope, id);
    this.namespace = makeNamespace(this, props);
    const values = Fn.yamlencode({ ...commonValues(props), ...props.own });
    this.release = new Release(this, "release", {
      name: props.name,
      namespace: props.namespace,
      chart: props.chart ?? bundledChart(this, props.bundled),
      values: mergeTexts(values, props.values),
      // Write-only: the token reaches the cluster and neither plan nor state. The provider reads it at create and when the revision rises.
      setWo: [{ name: "token", value: props.token, type: "string" }],
      setWoRevision: props.tokenRevision ?? 1,
      wait: true,
      // An installation that was cut off leaves a release behind; the next apply then goes on with it.
      upgradeInstall: true,
      timeout: props.timeout ?? 300,
      dependsOn: this.namespace?.ready,
    });
  }

  get ready(): ITerraformDependable[] {
    return [this.release];
  }
}

function makeNamespace(scope: Construct, props: WorkerReleaseProps): WorkerRelease["namespace"] {
  const { createNamespace: create, namespace: name, namespaceProvider } = props;
  if (create === false) return undefined;
  if (namespaceProvider !== "kubernetes")
    return new OutpostNamespace(scope, "namespace", { name, create, chart: props.namespaceChart });
  if (create !== undefined && create !== true)
    throw new Error(
      `${scope.node.path}: with the provider kubernetes, createNamespace is decided when the stack is synthesised`,
    );
  return new OutpostKubernetesNamespace(scope, "namespace", { name });
}

/** Only what was given: a null would delete the chart's default. */
function commonValues(props: WorkerReleaseProps): object {
  const image = { ...given("reference", props.image), ...given("pullSecrets", props.imagePullSecrets) };
  const proxy = {
    ...given("httpsProxy", props.httpsProxy),
    ...given("noProxy", props.noProxy),
    ...(props.proxySecret === undefined ? {} : { credentialsSecret: { name: props.proxySecret } }),
  };
  return {
    endpoint: props.endpoint,
    ...(Object.keys(image).length > 0 && { image }),
    ...(Object.keys(proxy).length > 0 && { proxy }),
    ...(props.caBundle !== undefined && { ca: { bundle: props.caBundle } }),
  };
}

/** `{ [key]: value }`, or nothing when there is no value. */
export function given(key: string, value: unknown): object {
  return value === undefined ? {} : { [key]: value };
}

function mergeTexts(first: string, more: string[] = []): string[] {
  return Token.isUnresolved(more) ? Token.asList(Fn.concat([[first], more])) : [first, ...more];
}
