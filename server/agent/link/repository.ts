import type { Schemas } from "../../../openapi/client.ts";
import { validateRepositoryCredentialSpec, validateRepositorySpec } from "../../../openapi/contract/validators.js";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import type { KubeObject } from "../../kube/object.ts";
import { RESOURCES } from "../../kube/path.ts";
import type { WorkerObject } from "../../link/exchange.ts";
import type { Context } from "./context.ts";
import { changeConfigMap } from "./entries.ts";
import { fits, projectOf } from "./fits.ts";
import { withKnownHosts } from "./known-hosts.ts";
import { type Content, deleteOwn, findOwn, putManaged } from "./managed.ts";
import { data, field, openCredentials, SECRET_TYPE } from "./secrets.ts";
import { HOST_KEYS, TRUST } from "./trust.ts";

const CREDENTIALS = [
  "password",
  "bearerToken",
  "sshPrivateKey",
  "tlsClientCertData",
  "tlsClientCertKey",
  "githubAppPrivateKey",
  "gcpServiceAccountKey",
  "azureServicePrincipalClientSecret",
] as const;

type Spec = Schemas["RepositorySpec"] & Schemas["RepositoryCredentialSpec"];

/** Writes a repository's Secret; credentials only change when new ones came. */
export async function putRepository(ctx: Context, object: WorkerObject): Promise<Outcome<undefined>> {
  const spec = fits<Schemas["RepositorySpec"]>(validateRepositorySpec, object.spec);
  if (spec.kind !== "done") return spec;
  const written = await putAccess(ctx, object, spec.value as Spec, "repository");
  return written.kind === "done" ? putKnownHosts(ctx, object.uid, spec.value.sshKnownHosts) : written;
}

/** Writes the Secret of credentials for all repositories whose addresses begin alike. */
export async function putRepositoryCredential(ctx: Context, object: WorkerObject): Promise<Outcome<undefined>> {
  const spec = fits<Schemas["RepositoryCredentialSpec"]>(validateRepositoryCredentialSpec, object.spec);
  return spec.kind === "done" ? putAccess(ctx, object, spec.value as Spec, "repo-creds") : spec;
}

async function putAccess(ctx: Context, object: WorkerObject, spec: Spec, type: "repository" | "repo-creds"): Promise<Outcome<undefined>> {
  const project = projectOf(spec, object.resolved);
  if (project.kind !== "done") return project;
  const credentials = await openCredentials(ctx, object, CREDENTIALS);
  if (credentials.kind !== "done") return credentials;
  const build = (existing: KubeObject | undefined): Outcome<Content> => {
    const kept = credentials.value ? undefined : existing;
    const secret = Object.fromEntries(CREDENTIALS.map((name) => [name, credentials.value?.get(name)?.reveal() ?? field(kept, name)]));
    // A key of an App that was taken out is nobody's, and so is a secret.
    if (!spec.githubApp) delete secret.githubAppPrivateKey;
    if (!spec.azureServicePrincipal) delete secret.azureServicePrincipalClientSecret;
    // Whoever may change the address must not be able to have the old password sent to a host of his choice.
    const moved = kept && Object.values(secret).some(Boolean) ? movedFrom(kept, spec) : undefined;
    if (moved)
      return stop(
        "CredentialsRequired",
        `${moved}; the credentials are not sent there unless they are set again (change credentialsVersion)`,
      );
    if (spec.githubApp && !secret.githubAppPrivateKey)
      return stop(
        "CredentialsRequired",
        "the GitHub App's private key is not here: set githubAppPrivateKey again (change credentialsVersion)",
      );
    if (spec.azureServicePrincipal && !secret.azureServicePrincipalClientSecret)
      return stop(
        "CredentialsRequired",
        "the service principal's secret is not here: set azureServicePrincipalClientSecret again (change credentialsVersion)",
      );
    return done({
      labels: { [SECRET_TYPE]: type },
      fields: { type: "Opaque", data: data({ ...fieldsOf(spec, project.value), ...secret }) },
    });
  };
  const written = await putManaged(ctx, RESOURCES.secret, object, build);
  return written.kind === "done" ? done(undefined) : written;
}

const yes = (value: boolean | undefined) => (value ? "true" : undefined);
const number = (value: number | undefined) => (value ? String(value) : undefined);

/** The fields as Argo CD reads them; `submodules` is ours. */
function fieldsOf(spec: Spec, project: string | undefined): Record<string, string | undefined> {
  const { githubApp, azureServicePrincipal: azure, insecure } = spec;
  return {
    url: spec.url,
    type: spec.type ?? "git",
    project,
    username: spec.username,
    insecure: yes(insecure),
    insecureIgnoreHostKey: yes(insecure),
    enableLfs: yes(spec.enableLfs),
    submodules: yes(spec.submodules),
    depth: number(spec.depth),
    proxy: spec.proxy,
    noProxy: spec.noProxy,
    forceHttpBasicAuth: yes(spec.forceHttpBasicAuth),
    insecureOCIForceHttp: yes(spec.insecureOciForceHttp),
    githubAppID: number(githubApp?.id),
    githubAppInstallationID: number(githubApp?.installationId),
    githubAppEnterpriseBaseUrl: githubApp?.enterpriseBaseUrl,
    azureServicePrincipalClientId: azure?.clientId,
    azureServicePrincipalTenantId: azure?.tenantId,
    azureActiveDirectoryEndpoint: azure?.activeDirectoryEndpoint,
    useAzureWorkloadIdentity: yes(spec.useAzureWorkloadIdentity),
  };
}

/** Whether credentials that stay would be sent to somebody new, and to whom. */
function movedFrom(kept: KubeObject, spec: Spec): string | undefined {
  const before = field(kept, "url");
  if (before && hostOf(before) !== hostOf(spec.url)) return `the address moved from ${hostOf(before)} to ${hostOf(spec.url)}`;
  // None means github.com, which is somebody else than the host that was named.
  const github = (url: string | undefined) => (url ? hostOf(url) : "api.github.com");
  const [old, next] = [github(field(kept, "githubAppEnterpriseBaseUrl")), github(spec.githubApp?.enterpriseBaseUrl)];
  if (spec.githubApp && field(kept, "githubAppPrivateKey") && old !== next)
    return `the address of the GitHub App moved from ${old} to ${next}`;
  const azure = (url: string | undefined) => hostOf(url || "https://login.microsoftonline.com");
  const [from, to] = [azure(field(kept, "azureActiveDirectoryEndpoint")), azure(spec.azureServicePrincipal?.activeDirectoryEndpoint)];
  if (spec.azureServicePrincipal && field(kept, "azureServicePrincipalClientSecret") && from !== to)
    return `the sign-in of the service principal moved from ${from} to ${to}`;
  // A proxy sees everything of plain HTTP, and of HTTPS whose certificate is not checked.
  const proxy = field(kept, "proxy");
  if (spec.proxy && proxy !== spec.proxy) return `the proxy changed from ${proxy ?? "none"} to ${spec.proxy}`;
  return undefined;
}

export async function removeRepository(ctx: Context, object: WorkerObject): Promise<Outcome<undefined>> {
  const hosts = await putKnownHosts(ctx, object.uid, undefined);
  return hosts.kind === "done" ? removeSecret(ctx, object) : hosts;
}

/** Removes the Secret of a tombstone. */
export async function removeSecret(ctx: Context, object: WorkerObject): Promise<Outcome<undefined>> {
  const found = await findOwn(ctx, RESOURCES.secret, object);
  if (found.kind !== "done") return found;
  return found.value ? deleteOwn(ctx, RESOURCES.secret, found.value) : done(undefined);
}

async function putKnownHosts(ctx: Context, uid: string, lines: string | undefined): Promise<Outcome<undefined>> {
  return changeConfigMap(ctx, TRUST.hosts.name, (before) => {
    const text = withKnownHosts(before[HOST_KEYS] ?? "", uid, lines);
    return done(text === (before[HOST_KEYS] ?? "") ? undefined : { data: { ...before, [HOST_KEYS]: text } });
  });
}

/** The host a credential goes to; scp's short form has it before the colon. */
function hostOf(url: string): string {
  return (URL.parse(url)?.host || /^[^@\s]+@([^:\s]+):/.exec(url)?.[1] || url).toLowerCase();
}
