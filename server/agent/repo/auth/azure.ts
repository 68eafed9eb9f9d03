import { readFile } from "node:fs/promises";
import { isCloudOrigin } from "../../../base/cloud/cloud-origin.ts";
import { digest } from "../../../base/json/canonical.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { Secret } from "../../../base/secret.ts";
import { REPO, type RepoAccess } from "../types.ts";
import { AZURE_DEVOPS, redactUrl } from "../url.ts";
import { grant } from "./oauth.ts";
import { tokens } from "./tokens.ts";

// Azure DevOps is known to Microsoft's sign-in by this number, everywhere.
const DEVOPS = "499b84ac-1321-427f-aa17-267ca6975798/.default";
const PUBLIC = "https://login.microsoftonline.com";
const SIGN_IN = /^login\.(microsoftonline\.(com|us|de)|partner\.microsoftonline\.cn|chinacloudapi\.cn|windows\.net)$/;
const REGISTRY = /^[a-z0-9-]+\.azurecr\.(io|us|cn|de)$/i;
const NOBODY = /^$/;
const NAME = /^[A-Za-z0-9._-]{1,128}$/;
const MAX_TOKEN_FILE = 16_384;

/** Registries of Azure know a token by this name alone. */
export const AZURE_USER = "00000000-0000-0000-0000-000000000000";

export const hasAzure = (repo: RepoAccess): boolean =>
  repo.azureWorkloadIdentity === true || repo.azurePrincipal !== undefined;

/** The token by which Azure DevOps lets an application in, or the repo server itself. */
export const azureToken = (repo: RepoAccess): Promise<Outcome<Secret>> => signIn(repo, DEVOPS, AZURE_DEVOPS);

/**
 * What a registry of Azure takes as a password: it gives one for a token of the sign-in. `realm` is where the registry says that tokens are
 * given, which must be itself.
 */
export async function registryPassword(
  repo: RepoAccess,
  origin: string,
  realm: string,
  service: string,
): Promise<Outcome<Secret>> {
  if (!URL.canParse(realm) || new URL(realm).origin !== origin)
    return stop(
      REPO.urlRefused,
      `${redactUrl(repo.url)} sends elsewhere for tokens; the identity in Azure is not shown there`,
    );
  const resource = process.env.AZURE_ARM_TOKEN_RESOURCE || "https://management.core.windows.net";
  const first = await signIn(repo, `${resource.replace(/(?<!\/)\/+$/, "")}/.default`, REGISTRY);
  if (first.kind !== "done") return first;
  const id = digest(["azure registry", origin, service, first.value.reveal()]);
  const form = { grant_type: "access_token", service, access_token: first.value.reveal() };
  return tokens.get(id, () =>
    grant(`${origin}/oauth2/exchange`, repo, { form, who: "this identity in Azure", member: "refresh_token" }),
  );
}

async function signIn(repo: RepoAccess, scope: string, places: RegExp): Promise<Outcome<Secret>> {
  // A token opens all that its owner may see: the author of an address must not have it sent to another host.
  if (!isCloudOrigin(repo.url.replace(/^oci:/, repo.forceHttp ? "http:" : "https:"), places))
    return stop(
      REPO.urlRefused,
      `${redactUrl(repo.url)} is not Azure's; an identity in Azure is shown to no other host`,
    );
  // The author's own proxy could read what goes to a server whose certificate is not checked.
  if (repo.azureWorkloadIdentity && (repo.insecure || (repo.proxy && !isCloudOrigin(repo.proxy, NOBODY))))
    return stop(
      REPO.urlRefused,
      `${redactUrl(repo.url)}: the repo server's own identity in Azure goes through no proxy, and to no unchecked server`,
    );
  const who = await identity(repo);
  if (who.kind !== "done") return who;
  const { authority, tenant, client, proof } = who.value;
  const id = digest([
    "azure",
    authority,
    tenant,
    client,
    scope,
    repo.azurePrincipalSecret?.reveal() ?? "",
    repo.proxy ?? "",
  ]);
  return tokens.get(id, async () => {
    const shown = await proof();
    if (shown.kind !== "done") return shown;
    const form = { client_id: client, scope, grant_type: "client_credentials", ...shown.value };
    return grant(`${authority}/${tenant}/oauth2/v2.0/token`, repo, {
      form,
      who: `the application ${client} of tenant ${tenant}`,
    });
  });
}

interface Identity {
  authority: string;
  tenant: string;
  client: string;
  proof: () => Promise<Outcome<Record<string, string>>>;
}

async function identity({ azurePrincipal, azurePrincipalSecret }: RepoAccess): Promise<Outcome<Identity>> {
  if (!azurePrincipal) return workload();
  const { tenantId: tenant, clientId: client, authority: given } = azurePrincipal;
  const secret = azurePrincipalSecret?.reveal();
  if (!NAME.test(tenant) || !NAME.test(client))
    return stop(REPO.authentication, "azureServicePrincipalTenantId and azureServicePrincipalClientId must be ids");
  if (!secret) return stop(REPO.authentication, "azureServicePrincipalClientSecret is not set");
  const authority = (given || PUBLIC).replace(/(?<!\/)\/+$/, "");
  if (!isCloudOrigin(authority, SIGN_IN))
    return stop(
      REPO.urlRefused,
      "azureActiveDirectoryEndpoint is not a sign-in of Azure; the operator of the repo server can allow it",
    );
  return done({ authority, tenant, client, proof: async () => done({ client_secret: secret }) });
}

/** What Azure's webhook puts into a Pod whose service account has an identity there. */
function workload(): Outcome<Identity> {
  const { AZURE_FEDERATED_TOKEN_FILE: file, AZURE_TENANT_ID: tenant = "", AZURE_CLIENT_ID: client = "" } = process.env;
  const authority = (process.env.AZURE_AUTHORITY_HOST || PUBLIC).replace(/(?<!\/)\/+$/, "");
  if (!file || !NAME.test(tenant) || !NAME.test(client))
    return stop(
      REPO.identity,
      "the repo server has no workload identity of Azure (AZURE_FEDERATED_TOKEN_FILE, AZURE_TENANT_ID, AZURE_CLIENT_ID): label its Pod azure.workload.identity/use=true and annotate its service account",
    );
  if (!isCloudOrigin(authority, SIGN_IN))
    return stop(REPO.urlRefused, "AZURE_AUTHORITY_HOST is not a sign-in of Azure");
  const proof = async (): Promise<Outcome<Record<string, string>>> => {
    // The kubelet renews it before it ends.
    const text = (await readFile(file, "utf8").catch(() => "")).trim();
    if (!text || text.length > MAX_TOKEN_FILE)
      return stop(REPO.identity, "AZURE_FEDERATED_TOKEN_FILE names no file with a token");
    return done({
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      client_assertion: text,
    });
  };
  return done({ authority, tenant, client, proof });
}
