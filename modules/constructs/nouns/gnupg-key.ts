import type { ITerraformDependable } from "cdktf";
import { Construct } from "constructs";
import { GnupgKey } from "../bindings/gnupg-key.ts";
import type { IAgent } from "./agent.ts";

export interface OutpostGnupgKeyProps {
  /** Id of the object; immutable. The key's own id is `keyId`. */
  readonly gnupgKeyId: string;
  readonly org?: string;
  readonly project?: string;
  /** Agent that verifies commits with it. */
  readonly agent: IAgent;
  /** One armoured public key, as `gpg --armor --export KEY` gives. */
  readonly publicKey: string;
}

/** A public key by which an agent verifies commits. */
export class OutpostGnupgKey extends Construct {
  readonly key: GnupgKey;

  constructor(scope: Construct, id: string, props: OutpostGnupgKeyProps) {
    super(scope, id);
    const { gnupgKeyId, agent, ...rest } = props;
    this.key = new GnupgKey(this, "key", { ...rest, id: gnupgKeyId, agent: agent.agentId, dependsOn: agent.ready });
  }

  /** The last 16 digits of the fingerprint, as `sourceIntegrity` of a project names keys. */
  get keyId(): string {
    return this.key.status.keyId;
  }

  get ready(): ITerraformDependable[] {
    return [this.key];
  }
}
