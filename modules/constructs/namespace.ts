import { Release } from "@cdktf/provider-helm/lib/release/index.js";
import { conditional, Fn, type IResolvable, type ITerraformDependable, Token } from "cdktf";
import { Construct } from "constructs";
import { bundledChart, releaseName } from "./charts.ts";

export interface OutpostNamespaceProps {
  readonly name: string;
  /**
   * Pod Security Standard that pods must meet: `restricted`, `baseline` or `privileged`.
   * @default restricted
   */
  readonly podSecurity?: string;
  /**
   * Whether to make it at all; a variable of a module can say.
   * @default true
   */
  readonly create?: boolean | IResolvable;
  /**
   * Namespace in which Helm stores the release. Another than the one it makes.
   * @default default
   */
  readonly releaseNamespace?: string;
  /** Path of the chart; default: the bundled one. */
  readonly chart?: string;
}

/** A namespace that goes when the stack goes, with Pod Security labels. */
export class OutpostNamespace extends Construct {
  readonly release: Release;

  constructor(scope: Construct, id: string, props: OutpostNamespaceProps) {
    super(scope, id);
    const decidedLater = Token.isUnresolved(props.create);
    this.release = new Release(this, "release", {
      ...(decidedLater && { count: Token.asNumber(conditional(props.create, 1, 0)) }),
      name: releaseName("outpost-namespace", props.name),
      namespace: props.releaseNamespace ?? "default",
      chart: props.chart ?? bundledChart(this, "outpost-namespace"),
      values: [Fn.yamlencode({ name: props.name, podSecurity: props.podSecurity ?? "restricted" })],
      wait: true,
      upgradeInstall: true,
    });
  }

  /** What to put into `dependsOn`. */
  get ready(): ITerraformDependable[] {
    return [this.release];
  }
}
