import type { ITerraformDependable } from "cdktf";
import { Construct } from "constructs";
import type { IAgent } from "./agent.ts";
import { Repository } from "./bindings/repository.ts";

/** A repository that applications refer to. */
export interface IRepository {
  readonly repositoryId: string;
  readonly ready: ITerraformDependable[];
}

export interface OutpostRepositoryProps {
  /** Id of the repository; immutable. */
  readonly repositoryId: string;
  readonly org?: string;
  readonly project?: string;
  /** Agent that reads it. */
  readonly agent: IAgent;
  /** HTTPS, HTTP, SSH or OCI address, without credentials. */
  readonly url: string;
  /**
   * `git`, `helm` or `oci`.
   * @default git
   */
  readonly type?: string;
  readonly username?: string;
  /** Write-only: reaches the agent sealed, and neither plan nor state. Best an ephemeral variable. */
  readonly password?: string;
  /** Write-only. */
  readonly sshPrivateKey?: string;
  /** Host keys as in a `known_hosts` file. */
  readonly sshKnownHosts?: string;
  /** Any value; change it to send new credentials. */
  readonly credentialsVersion?: string;
  /** Do not check the server's certificate or host key. */
  readonly insecure?: boolean;
}

/** A Git or Helm repository that an agent may read. */
export class OutpostRepository extends Construct implements IRepository {
  /** A repository that was made elsewhere. */
  static fromRepositoryId(repositoryId: string): IRepository {
    return { repositoryId, ready: [] };
  }

  readonly repository: Repository;

  constructor(scope: Construct, id: string, props: OutpostRepositoryProps) {
    super(scope, id);
    const { repositoryId, agent, password, sshPrivateKey, ...rest } = props;
    const secret = password !== undefined || sshPrivateKey !== undefined;
    if (secret && props.credentialsVersion === undefined) {
      throw new Error(`${this.node.path}: credentials are write-only, so say credentialsVersion, whose change sends new ones`);
    }
    this.repository = new Repository(this, "repository", {
      ...rest,
      id: repositoryId,
      agent: agent.agentId,
      ...(secret && { credentials: { password, sshPrivateKey } }),
      dependsOn: agent.ready,
    });
  }

  get repositoryId(): string {
    return this.repository.id;
  }

  get ready(): ITerraformDependable[] {
    return [this.repository];
  }
}
