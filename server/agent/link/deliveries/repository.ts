import { audienceOf } from "../../../../openapi/audience.ts";
import type { Schemas } from "../../../../openapi/client.ts";
import { validateRepositoryCredentialSpec, validateRepositorySpec } from "../../../../openapi/contract/validators.js";
import { canonical } from "../../../base/json/canonical.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { RESOURCES } from "../../../kube/path.ts";
import type { WorkerObject } from "../../../link/exchange.ts";
import { tenantOf } from "../../project/tenant.ts";
import type { AgentContext } from "../context.ts";
import { AUDIENCE, chooseCredentials, mayKeep, openCredentials, openedIds } from "../credentials/credentials.ts";
import { withKnownHosts } from "../credentials/known-hosts.ts";
import { rememberOpened } from "../credentials/opened.ts";
import { refusesRepository } from "../credentials/reserved.ts";
import { data, field, SECRET_TYPE } from "../credentials/secrets.ts";
import { changeConfigMap } from "../entries.ts";
import { tenantOfDelivery } from "../names.ts";
import { type Content, deleteOwn, findOwn, putManaged } from "./managed.ts";
import { HOST_KEYS, TRUST } from "./trust.ts";
import { fits, projectOf } from "./validate-spec.ts";

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
export async function putRepository(ctx: AgentContext, object: WorkerObject): Promise<Outcome<undefined>> {
  const spec = fits<Schemas["RepositorySpec"]>(validateRepositorySpec, object.spec);
  if (spec.kind !== "done") return spec;
  const written = await putAccess(ctx, object, spec.value as Spec, "repository");
  // Keys in the shared ConfigMap are trusted for all: a tenant's host keys stay in the repository's own Secret.
  const shared = tenantOfDelivery(object) === undefined ? spec.value.sshKnownHosts : undefined;
  return written.kind === "done" ? putKnownHosts(ctx, object.uid, shared) : written;
}

/** Writes the Secret of credentials for all repositories whose addresses begin alike. */
export async function putRepositoryCredential(ctx: AgentContext, object: WorkerObject): Promise<Outcome<undefined>> {
  const spec = fits<Schemas["RepositoryCredentialSpec"]>(validateRepositoryCredentialSpec, object.spec);
  return spec.kind === "done" ? putAccess(ctx, object, spec.value as Spec, "repo-creds") : spec;
}

async function putAccess(
  ctx: AgentContext,
  object: WorkerObject,
  spec: Spec,
  type: "repository" | "repo-creds",
): Promise<Outcome<undefined>> {
  const refused = refusesRepository(object, spec);
  if (refused) return refused;
  const project = projectOf(spec, object.resolved);
  if (project.kind !== "done") return project;
  const audience = audienceOf(type === "repository" ? "repositories" : "repositorycredentials", { ...spec });
  const opened = await openCredentials(ctx, object, CREDENTIALS, audience);
  if (opened.kind !== "done") return opened;
  const build = async (existing: KubeObject | undefined): Promise<Outcome<Content>> => {
    const chosen = await chooseCredentials(ctx, existing, opened.value);
    if (chosen.kind !== "done") return chosen;
    const { fresh, annotations } = chosen.value;
    const kept = fresh ? undefined : existing;
    const secret = Object.fromEntries(
      CREDENTIALS.map((name) => [name, fresh?.get(name)?.reveal() ?? field(kept, name)]),
    );
    // The key of an App that was taken out goes with it, and so does the secret of a service principal. A specification that says nothing of how to
    // sign in leaves a Secret that was taken over as it is.
    const leaves = object.adopt !== undefined && !fresh && !signsIn(spec);
    if (!spec.githubApp && !leaves) delete secret.githubAppPrivateKey;
    if (!spec.azureServicePrincipal && !leaves) delete secret.azureServicePrincipalClientSecret;
    const some = Object.values(secret).some(Boolean);
    if (kept && some) {
      const may = mayKeep({ ctx, object, existing: kept, now: audience, told: () => toldBy(kept) });
      if (may.kind !== "done") return may;
    }
    const missing = missingKey(spec, secret);
    if (missing) return missing;
    const known = fieldsOf(spec, project.value);
    const taken = object.adopt ? takenOver(existing, known, fresh !== undefined || signsIn(spec)) : {};
    return done({
      labels: { [SECRET_TYPE]: type },
      annotations: { ...annotations, [AUDIENCE]: some ? canonical(audience) : undefined },
      fields: { type: "Opaque", data: data({ ...known, ...taken, ...secret, sshKnownHosts: ownHosts(object, spec) }) },
    });
  };
  const put = await putManaged(ctx, RESOURCES.secret, object, build);
  return put.kind === "done" ? done(undefined) : put;
}

function missingKey(spec: Spec, secret: Record<string, string | undefined>): ReturnType<typeof stop> | undefined {
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
  return undefined;
}

const ownHosts = (object: WorkerObject, { sshKnownHosts }: Spec) =>
  tenantOfDelivery(object) === undefined ? undefined : sshKnownHosts;
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

const SIGN_IN = ["username", "useAzureWorkloadIdentity"];
const signsIn = (spec: Spec): boolean =>
  Boolean(spec.username || spec.githubApp || spec.azureServicePrincipal || spec.useAzureWorkloadIdentity);
const isSignIn = (name: string): boolean => SIGN_IN.includes(name) || /^(githubApp|azure)/.test(name);

/**
 * Fields that stay in a Secret that was taken over: unknown fields, such as the name that Argo CD shows, and the sign-in unless the
 * specification says that.
 */
function takenOver(
  existing: KubeObject | undefined,
  known: Record<string, unknown>,
  other: boolean,
): Record<string, string | undefined> {
  const names = Object.keys((existing?.data ?? {}) as object).filter((name) =>
    isSignIn(name) ? !other : !(name in known),
  );
  return Object.fromEntries(
    names.filter((name) => name !== "sshKnownHosts").map((name) => [name, field(existing, name)]),
  );
}

/** The specification of a Secret that an agent wrote before it kept the audience beside the credentials. */
function toldBy(secret: KubeObject): Record<string, unknown> {
  const on = (name: string) => field(secret, name) === "true";
  const app = field(secret, "githubAppPrivateKey") && {
    enterpriseBaseUrl: field(secret, "githubAppEnterpriseBaseUrl"),
  };
  const principal = field(secret, "azureServicePrincipalClientSecret") && {
    activeDirectoryEndpoint: field(secret, "azureActiveDirectoryEndpoint"),
  };
  return {
    url: field(secret, "url"),
    type: field(secret, "type"),
    proxy: field(secret, "proxy"),
    noProxy: field(secret, "noProxy"),
    insecure: on("insecure"),
    insecureOciForceHttp: on("insecureOCIForceHttp"),
    forceHttpBasicAuth: on("forceHttpBasicAuth"),
    githubApp: app,
    azureServicePrincipal: principal,
  };
}

export async function removeRepository(ctx: AgentContext, object: WorkerObject): Promise<Outcome<undefined>> {
  const hosts = await putKnownHosts(ctx, object.uid, undefined);
  return hosts.kind === "done" ? removeSecret(ctx, object) : hosts;
}

/** Removes the Secret of a tombstone. */
export async function removeSecret(ctx: AgentContext, object: WorkerObject): Promise<Outcome<undefined>> {
  const found = await findOwn(ctx, RESOURCES.secret, object);
  if (found.kind !== "done") return found;
  if (!found.value) return done(undefined);
  const remembered = await rememberOpened(ctx, tenantOf(found.value), openedIds(found.value));
  return remembered.kind === "done" ? deleteOwn(ctx, RESOURCES.secret, found.value) : remembered;
}

async function putKnownHosts(ctx: AgentContext, uid: string, lines: string | undefined): Promise<Outcome<undefined>> {
  return changeConfigMap(ctx, TRUST.hosts, (before) => {
    const text = withKnownHosts(before[HOST_KEYS] ?? "", uid, lines);
    return done(text === (before[HOST_KEYS] ?? "") ? undefined : { data: { ...before, [HOST_KEYS]: text } });
  });
}
