import type { ITerraformDependable } from "cdktf";
import { Construct } from "constructs";
import { RepositoryCredential } from "../bindings/repository-credential.ts";
import { type SignInProps, signIn } from "../credentials.ts";
import type { IAgent } from "./agent.ts";
import type { IAppProject } from "./app-project.ts";

export interface OutpostRepositoryCredentialProps extends SignInProps {
  /** Id of the template; immutable. */
  readonly credentialId: string;
  readonly org?: string;
  readonly project?: string;
  /** Agent that uses them. */
  readonly agent: IAgent;
  /** Beginning of addresses: `https://github.com/team/`. */
  readonly url: string;
  /**
   * `git`, `helm` or `oci`.
   * @default git
   */
  readonly type?: string;
  /** Only applications of this project may use it. */
  readonly appProject?: IAppProject;
  /** Proxy to these repositories, without credentials. */
  readonly proxy?: string;
  readonly noProxy?: string;
  readonly forceHttpBasicAuth?: boolean;
  readonly insecureOciForceHttp?: boolean;
}

/** Credentials for every repository below an address that has none of its own; the longest address counts. */
export class OutpostRepositoryCredential extends Construct {
  readonly credential: RepositoryCredential;

  constructor(scope: Construct, id: string, props: OutpostRepositoryCredentialProps) {
    super(scope, id);
    const { credentialId, agent, appProject, ...rest } = signIn(this, props);
    this.credential = new RepositoryCredential(this, "credential", {
      ...rest,
      id: credentialId,
      agent: agent.agentId,
      appProject: appProject?.appProjectId,
      dependsOn: [...agent.ready, ...(appProject?.ready ?? [])],
    });
  }

  /** For what reads a repository below the address without being told of this. */
  get ready(): ITerraformDependable[] {
    return [this.credential];
  }
}
