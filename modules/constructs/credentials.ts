import type { IConstruct } from "constructs";

/** How to sign in to a repository or to all below an address. What is secret is write-only: it reaches the agent sealed, and neither plan nor state. */
export interface SignInProps {
  readonly username?: string;
  /** Write-only. Best an ephemeral variable. */
  readonly password?: string;
  /** Write-only. */
  readonly bearerToken?: string;
  /** Write-only. */
  readonly sshPrivateKey?: string;
  /** A GitHub App instead of a user. */
  readonly githubApp?: GithubAppProps;
  /** Write-only: the key of `githubApp`, PEM. */
  readonly githubAppPrivateKey?: string;
  /** Write-only: the file of a service account of Google Cloud, JSON. */
  readonly gcpServiceAccountKey?: string;
  /** An application registered in Azure instead of a user. */
  readonly azureServicePrincipal?: AzureServicePrincipalProps;
  /** Write-only: the secret of `azureServicePrincipal`. */
  readonly azureServicePrincipalClientSecret?: string;
  /** The repo server signs in with its own identity in Azure. */
  readonly useAzureWorkloadIdentity?: boolean;
  /** Write-only: a client certificate, PEM; goes with `tlsClientCertKey`. */
  readonly tlsClientCertData?: string;
  /** Write-only. */
  readonly tlsClientCertKey?: string;
  /** Any value; change it to send new credentials. */
  readonly credentialsVersion?: string;
}

export interface GithubAppProps {
  readonly id: number;
  /** Default: the installation of the repository's owner. */
  readonly installationId?: number;
  /** As `https://github.example.com/api/v3`; default: github.com. */
  readonly enterpriseBaseUrl?: string;
}

export interface AzureServicePrincipalProps {
  readonly clientId: string;
  readonly tenantId: string;
  /** Sign-in of a sovereign cloud; default: the public one. */
  readonly activeDirectoryEndpoint?: string;
}

const WAYS = [
  "password",
  "bearerToken",
  "sshPrivateKey",
  "githubAppPrivateKey",
  "gcpServiceAccountKey",
  "azureServicePrincipalClientSecret",
] as const;
const SECRETS = [...WAYS, "tlsClientCertData", "tlsClientCertKey"] as const;
type Secret = (typeof SECRETS)[number];

/** What is secret goes into `credentials`, the rest stays. Refuses what cannot be meant. */
export function signIn<P extends SignInProps>(
  at: IConstruct,
  props: P,
): Omit<P, Secret> & { credentials?: Pick<SignInProps, Secret> } {
  const rest: Partial<Record<Secret, string>> = { ...props };
  const credentials: Partial<Record<Secret, string>> = {};
  for (const name of SECRETS) {
    if (props[name] !== undefined) credentials[name] = props[name];
    delete rest[name];
  }
  const fail = (why: string): never => {
    throw new Error(`${at.node.path}: ${why}`);
  };
  const ways = WAYS.filter((name) => credentials[name] !== undefined);
  if (ways.length > 1) fail(`give only one of ${ways.join(" and ")}`);
  if (props.githubAppPrivateKey !== undefined && !props.githubApp)
    fail("githubAppPrivateKey needs githubApp, which says whose key it is");
  if (props.azureServicePrincipalClientSecret !== undefined && !props.azureServicePrincipal)
    fail("azureServicePrincipalClientSecret needs azureServicePrincipal, which says whose secret it is");
  if (props.useAzureWorkloadIdentity && (ways.length > 0 || props.azureServicePrincipal || props.githubApp))
    fail("useAzureWorkloadIdentity signs in by itself: leave out the other way");
  if ((props.tlsClientCertData === undefined) !== (props.tlsClientCertKey === undefined))
    fail("tlsClientCertData and tlsClientCertKey go together");
  const some = Object.keys(credentials).length > 0;
  if (some && props.credentialsVersion === undefined)
    fail("credentials are write-only, so say credentialsVersion, whose change sends new ones");
  return { ...(rest as P), ...(some && { credentials }) };
}
