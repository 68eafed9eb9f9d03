import type { ITerraformDependable } from "cdktf";
import { Construct } from "constructs";
import { Repository } from "../bindings/repository.ts";
import { type SignInProps, signIn } from "../credentials.ts";
import type { IAgent } from "./agent.ts";
import type { IAppProject } from "./app-project.ts";

/** A repository that applications refer to. */
export interface IRepository {
  readonly repositoryId: string;
  readonly ready: ITerraformDependable[];
}

export interface OutpostRepositoryProps extends SignInProps {
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
  /** Host keys as in a `known_hosts` file. */
  readonly sshKnownHosts?: string;
  /** Do not check the server's certificate or host key. */
  readonly insecure?: boolean;
  /** Only applications of this project may use it. */
  readonly appProject?: IAppProject;
  /** Fetch files in Git LFS. */
  readonly enableLfs?: boolean;
  /** Read submodules, of the same host and within the agent's address policy. */
  readonly submodules?: boolean;
  /** Commits to fetch. */
  readonly depth?: number;
  /** Proxy to this repository, without credentials. */
  readonly proxy?: string;
  readonly noProxy?: string;
  readonly forceHttpBasicAuth?: boolean;
  readonly insecureOciForceHttp?: boolean;
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
    const { repositoryId, agent, appProject, ...rest } = signIn(this, props);
    this.repository = new Repository(this, "repository", {
      ...rest,
      id: repositoryId,
      agent: agent.agentId,
      appProject: appProject?.appProjectId,
      dependsOn: [...agent.ready, ...(appProject?.ready ?? [])],
    });
  }

  get repositoryId(): string {
    return this.repository.id;
  }

  get ready(): ITerraformDependable[] {
    return [this.repository];
  }
}
