import { Secret } from "../../../base/secret.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { tenantOf } from "../../project/tenant.ts";
import type { RepoAccess } from "../../repo/types.ts";
import { normaliseUrl } from "../../repo/url.ts";

/** A repository, or a template of credentials, as its Secret describes it. */
export interface Stored {
  /** The Secret's name. */
  secret: string;
  /** The tenant that registered it; undefined for the agent's own scope. */
  tenant: string | undefined;
  access: RepoAccess;
  /** One spelling of its address, or of the beginning of addresses. */
  normal: string;
}

/** Reads a Secret; empty fields are the same as none. */
export function stored(secret: KubeObject, normalise: (url: string) => string): Stored {
  const field = (name: string): string | undefined => {
    const value = secret.data?.[name];
    return typeof value === "string" && value !== "" ? Buffer.from(value, "base64").toString("utf8") : undefined;
  };
  const hidden = (name: string) => {
    const value = field(name);
    return value === undefined ? undefined : new Secret(value);
  };
  const given = (access: RepoAccess): RepoAccess =>
    Object.fromEntries(Object.entries(access).filter(([, value]) => value !== undefined)) as unknown as RepoAccess;
  const url = field("url")?.trim() ?? "";
  const [app, installation] = [field("githubAppID")?.trim(), field("githubAppInstallationID")?.trim()];
  const depth = Number(field("depth"));
  const [clientId, tenantId] = [
    field("azureServicePrincipalClientId")?.trim(),
    field("azureServicePrincipalTenantId")?.trim() ?? "",
  ];
  const authority = field("azureActiveDirectoryEndpoint")?.trim();
  const principal = clientId ? { clientId, tenantId, ...(authority ? { authority } : {}) } : undefined;
  return {
    secret: secret.metadata.name,
    tenant: tenantOf(secret),
    normal: url && normalise(url),
    access: given({
      url,
      name: field("name"),
      type: field("enableOCI") === "true" ? "oci" : (field("type") as RepoAccess["type"]),
      project: field("project")?.trim(),
      forceHttp: field("insecureOCIForceHttp") === "true",
      username: field("username"),
      password: hidden("password"),
      bearerToken: hidden("bearerToken"),
      sshPrivateKey: hidden("sshPrivateKey"),
      tlsClientCertData: field("tlsClientCertData"),
      tlsClientCertKey: hidden("tlsClientCertKey"),
      githubApp: app
        ? { id: app, installationId: installation, baseUrl: field("githubAppEnterpriseBaseUrl")?.trim() }
        : undefined,
      githubAppPrivateKey: hidden("githubAppPrivateKey"),
      gcpServiceAccountKey: hidden("gcpServiceAccountKey"),
      azureWorkloadIdentity: field("useAzureWorkloadIdentity") === "true" || undefined,
      azurePrincipal: principal,
      azurePrincipalSecret: principal && hidden("azureServicePrincipalClientSecret"),
      forceHttpBasicAuth: field("forceHttpBasicAuth") === "true",
      insecure: field("insecure") === "true",
      insecureIgnoreHostKey: field("insecureIgnoreHostKey") === "true",
      proxy: field("proxy"),
      noProxy: field("noProxy"),
      knownHosts: field("sshKnownHosts"),
      enableLfs: field("enableLfs") === "true",
      submodules: field("submodules") === "true",
      depth: depth > 0 ? depth : undefined,
    }),
  };
}

/** An address that ends with its host: `oci://host`, `ssh://git@host:22`, and `host` alone as registries are written. */
const HOST_ALONE = /^(?:[a-z][a-z0-9+.-]*:\/\/)?[^/]+$/i;

/**
 * The beginning of addresses in one spelling. A slash at its end stays, and a host is a whole one, with its port: neither `https://host` nor
 * `oci://host` means `host.example.com` or `host:8443`.
 */
export function normalisePrefix(url: string): string {
  const trimmed = url.trim();
  const scp = /^([A-Za-z0-9._-]+)@([A-Za-z0-9][A-Za-z0-9.-]+):(\/*)$/.exec(trimmed);
  if (scp) return `ssh://${scp[1]}@${scp[2]!.toLowerCase()}/`;
  const normal = normaliseUrl(trimmed);
  return (HOST_ALONE.test(normal) || /[^/]\/+$/.test(trimmed)) && !normal.endsWith("/") ? `${normal}/` : normal;
}

/** Whether an address in one spelling begins so; one that is a host alone has no slash to begin with. */
export const beginsWith = (normal: string, prefix: string): boolean =>
  prefix !== "" && (normal.startsWith(prefix) || `${normal}/` === prefix);
