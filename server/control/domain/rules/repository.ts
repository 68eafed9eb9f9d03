import { createPrivateKey } from "node:crypto";
import { readJson } from "../../../base/json/nesting.ts";
import type { Schemas } from "../nouns.ts";
import type { Fault } from "../problem.ts";

type Spec = Schemas["RepositorySpec"] | Schemas["RepositoryCredentialSpec"];
type Credentials = Schemas["RepositoryCredentials"];

/** What is wrong between the fields of a repository, or of credentials for several. */
export function repositoryFaults(spec: Spec): Fault[] {
  const { url, type = "git", githubApp, azureServicePrincipal, useAzureWorkloadIdentity, credentials } = spec;
  const faults: Fault[] = [];
  const http = /^https?:\/\//.test(url);
  for (const field of ["enableLfs", "submodules", "depth"] as const)
    if (type !== "git" && field in spec && (spec as Record<string, unknown>)[field])
      faults.push({
        pointer: `/spec/${field}`,
        detail: `\`${field}\` belongs to Git repositories; this one is of type ${type}.`,
      });
  if (spec.insecureOciForceHttp && type !== "oci" && !url.startsWith("oci://"))
    faults.push({
      pointer: "/spec/insecureOciForceHttp",
      detail: "It belongs to registries: `type` is `oci`, or the address begins with `oci://`.",
    });
  if (spec.forceHttpBasicAuth && !http)
    faults.push({ pointer: "/spec/forceHttpBasicAuth", detail: "It belongs to addresses of HTTP and HTTPS." });
  if (githubApp && (!http || type !== "git"))
    faults.push({
      pointer: "/spec/githubApp",
      detail: "A GitHub App opens Git repositories by HTTPS: give such an address.",
    });
  if (githubApp && spec.username)
    faults.push({
      pointer: "/spec/username",
      detail: "A GitHub App needs no user: leave out `username` or `githubApp`.",
    });
  const ways = Object.entries({ githubApp, azureServicePrincipal, useAzureWorkloadIdentity }).flatMap(
    ([name, given]) => (given ? [name] : []),
  );
  if (ways.length > 1)
    faults.push({ pointer: `/spec/${ways[1]}`, detail: `\`${ways[0]}\` signs in already: give one of them.` });
  for (const name of ["azureServicePrincipal", "useAzureWorkloadIdentity"] as const) {
    if (!spec[name]) continue;
    if (!http && !url.startsWith("oci://"))
      faults.push({
        pointer: `/spec/${name}`,
        detail: "An identity in Azure opens addresses of HTTPS and registries: give such an address.",
      });
    if (spec.username)
      faults.push({
        pointer: "/spec/username",
        detail: `An identity in Azure needs no user: leave out \`username\` or \`${name}\`.`,
      });
  }
  return credentials ? [...faults, ...credentialFaults(spec, credentials)] : faults;
}

const ONE_OF = [
  "password",
  "bearerToken",
  "sshPrivateKey",
  "githubAppPrivateKey",
  "gcpServiceAccountKey",
  "azureServicePrincipalClientSecret",
] as const;

function credentialFaults(spec: Spec, credentials: Credentials): Fault[] {
  const { url, githubApp, azureServicePrincipal, useAzureWorkloadIdentity } = spec;
  const at = "/spec/credentials";
  const faults: Fault[] = [];
  const [first, second] = ONE_OF.filter((field) => credentials[field]);
  if (first && second)
    faults.push({ pointer: `${at}/${second}`, detail: `\`${first}\` is given already: give one of ${names(ONE_OF)}.` });
  for (const [one, other] of [
    ["tlsClientCertData", "tlsClientCertKey"],
    ["tlsClientCertKey", "tlsClientCertData"],
  ] as const)
    if (credentials[one] && !credentials[other])
      faults.push({ pointer: `${at}/${other}`, detail: `\`${one}\` needs \`${other}\`.` });
  if (credentials.githubAppPrivateKey && !githubApp)
    faults.push({
      pointer: "/spec/githubApp",
      detail: "`githubAppPrivateKey` needs `githubApp` with the id of the App.",
    });
  if (credentials.githubAppPrivateKey && !isRsaKey(credentials.githubAppPrivateKey))
    faults.push({
      pointer: `${at}/githubAppPrivateKey`,
      detail: "It is not an RSA private key in PEM: give the text of the file that GitHub gave for the App.",
    });
  if (githubApp && !credentials.githubAppPrivateKey) faults.push(NEEDED.githubApp);
  const { gcpServiceAccountKey: file, azureServicePrincipalClientSecret: secret } = credentials;
  if (file && !/^(https?|oci):\/\//.test(url))
    faults.push({
      pointer: `${at}/gcpServiceAccountKey`,
      detail: "A service account opens addresses of HTTPS and registries: give such an address.",
    });
  if (file && !isServiceAccount(file))
    faults.push({
      pointer: `${at}/gcpServiceAccountKey`,
      detail: "It is not a JSON file of a service account: give the text of the file that Google gave.",
    });
  if (secret && !azureServicePrincipal)
    faults.push({
      pointer: "/spec/azureServicePrincipal",
      detail: "`azureServicePrincipalClientSecret` needs `azureServicePrincipal` with its ids.",
    });
  if (azureServicePrincipal && !secret) faults.push(NEEDED.azureServicePrincipal);
  if (useAzureWorkloadIdentity && first)
    faults.push({
      pointer: `${at}/${first}`,
      detail: "The repo server's own identity in Azure needs no credentials: leave out one of both.",
    });
  return faults;
}

const NEEDED = {
  githubApp: {
    pointer: "/spec/credentials/githubAppPrivateKey",
    detail: "A GitHub App signs in with its private key: give the text of the file that GitHub gave for the App.",
  },
  azureServicePrincipal: {
    pointer: "/spec/credentials/azureServicePrincipalClientSecret",
    detail: "An application of Azure signs in with its secret: give the value that Azure showed for it.",
  },
} satisfies Record<string, Fault>;

/** Credentials that stay must fit what is new: an App has never had its key when it was not there before. */
export function keptFaults(spec: Record<string, unknown>, before: Record<string, unknown> | undefined): Fault[] {
  const given = spec.credentials !== undefined || spec.sealedCredentials !== undefined;
  const names = ["githubApp", "azureServicePrincipal"] as const;
  return given ? [] : names.filter((name) => spec[name] && !before?.[name]).map((name) => NEEDED[name]);
}

function isRsaKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === "rsa";
  } catch {
    return false;
  }
}

function isServiceAccount(text: string): boolean {
  try {
    const { type, client_email, private_key } = readJson(text) as Record<string, unknown>;
    return (
      type === "service_account" &&
      typeof client_email === "string" &&
      typeof private_key === "string" &&
      isRsaKey(private_key)
    );
  } catch {
    return false;
  }
}

const names = (fields: readonly string[]) => fields.map((field) => `\`${field}\``).join(", ");
