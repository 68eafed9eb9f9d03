import { NamespaceV1 } from "@cdktf/provider-kubernetes/lib/namespace-v1/index.js";
import type { ITerraformDependable } from "cdktf";
import { Construct } from "constructs";

export interface OutpostKubernetesNamespaceProps {
  readonly name: string;
  /**
   * Pod Security Standard that pods must meet: `restricted`, `baseline` or `privileged`.
   * @default restricted
   */
  readonly podSecurity?: string;
}

/** The same as `OutpostNamespace` by the `kubernetes` provider, for stacks that have it: Terraform then also sees changed labels. */
export class OutpostKubernetesNamespace extends Construct {
  readonly namespace: NamespaceV1;

  constructor(scope: Construct, id: string, props: OutpostKubernetesNamespaceProps) {
    super(scope, id);
    const level = props.podSecurity ?? "restricted";
    this.namespace = new NamespaceV1(this, "namespace", {
      metadata: {
        name: props.name,
        labels: {
          "app.kubernetes.io/part-of": "outpost",
          "pod-security.kubernetes.io/enforce": level,
          "pod-security.kubernetes.io/warn": level,
        },
      },
    });
  }

  /** What to put into `dependsOn`. */
  get ready(): ITerraformDependable[] {
    return [this.namespace];
  }
}
