import type { ITerraformDependable } from "cdktf";
import { Construct } from "constructs";
import { RepositoryCertificate } from "../bindings/repository-certificate.ts";
import type { IAgent } from "./agent.ts";

export interface OutpostCertificateProps {
  /** Id of the object; immutable. */
  readonly certificateId: string;
  readonly org?: string;
  readonly project?: string;
  /** Agent that trusts it. */
  readonly agent: IAgent;
  /** Host name; for SSH on another port `[host]:port`. Immutable. */
  readonly host: string;
  /** For HTTPS: certificate authorities, PEM. */
  readonly https?: string;
  /** For SSH: the host's keys, each `ssh-ed25519 AAAA…`. */
  readonly ssh?: string[];
}

/** How an agent recognises a host of repositories; exactly one of `https` and `ssh`. */
export class OutpostCertificate extends Construct {
  readonly certificate: RepositoryCertificate;

  constructor(scope: Construct, id: string, props: OutpostCertificateProps) {
    super(scope, id);
    const { certificateId, agent, https, ssh, ...rest } = props;
    if ((https === undefined) === (ssh === undefined))
      throw new Error(`${this.node.path}: give exactly one of https and ssh`);
    this.certificate = new RepositoryCertificate(this, "certificate", {
      ...rest,
      id: certificateId,
      agent: agent.agentId,
      ...(https === undefined
        ? { type: "ssh", data: ssh!.map((key) => `${key}\n`).join("") }
        : { type: "https", data: https }),
      dependsOn: agent.ready,
    });
  }

  /** For what connects to the host without being told of this. */
  get ready(): ITerraformDependable[] {
    return [this.certificate];
  }
}
