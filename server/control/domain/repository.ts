import { createPrivateKey } from "node:crypto";
import type { Schemas } from "./nouns.ts";
import type { Fault } from "./problem.ts";

type Spec = Schemas["RepositorySpec"] | Schemas["RepositoryCredentialSpec"];
type Credentials = Schemas["RepositoryCredentials"];

/** What is wrong between the fields of a repository, or of credentials for several. */
export function repositoryFaults(spec: Spec): Fault[] {
  const { url, type = "git", githubApp, credentials } = spec;
  const faults: Fault[] = [];
  const http = /^https?:\/\//.test(url);
  for (const field of ["enableLfs", "submodules", "depth"] as const)
    if (type !== "git" && field in spec && (spec as Record<string, unknown>)[field])
      faults.push({ pointer: `/spec/${field}`, detail: `\`${field}\` belongs to Git repositories; this one is of type ${type}.` });
  if (spec.insecureOciForceHttp && type !== "oci" && !url.startsWith("oci://"))
    faults.push({
      pointer: "/spec/insecureOciForceHttp",
      detail: "It belongs to registries: `type` is `oci`, or the address begins with `oci://`.",
    });
  if (spec.forceHttpBasicAuth && !http)
    faults.push({ pointer: "/spec/forceHttpBasicAuth", detail: "It belongs to addresses of HTTP and HTTPS." });
  if (githubApp && (!http || type !== "git"))
    faults.push({ pointer: "/spec/githubApp", detail: "A GitHub App opens Git repositories by HTTPS: give such an address." });
  if (githubApp && spec.username)
    faults.push({ pointer: "/spec/username", detail: "A GitHub App needs no user: leave out `username` or `githubApp`." });
  return credentials ? [...faults, ...credentialFaults(spec, credentials)] : faults;
}

const ONE_OF = ["password", "bearerToken", "sshPrivateKey", "githubAppPrivateKey"] as const;

function credentialFaults({ githubApp }: Spec, credentials: Credentials): Fault[] {
  const at = "/spec/credentials";
  const faults: Fault[] = [];
  const [first, second] = ONE_OF.filter((field) => credentials[field]);
  if (first && second) faults.push({ pointer: `${at}/${second}`, detail: `\`${first}\` is given already: give one of ${names(ONE_OF)}.` });
  for (const [one, other] of [
    ["tlsClientCertData", "tlsClientCertKey"],
    ["tlsClientCertKey", "tlsClientCertData"],
  ] as const)
    if (credentials[one] && !credentials[other]) faults.push({ pointer: `${at}/${other}`, detail: `\`${one}\` needs \`${other}\`.` });
  if (credentials.githubAppPrivateKey && !githubApp)
    faults.push({ pointer: "/spec/githubApp", detail: "`githubAppPrivateKey` needs `githubApp` with the id of the App." });
  if (credentials.githubAppPrivateKey && !isRsaKey(credentials.githubAppPrivateKey))
    faults.push({
      pointer: `${at}/githubAppPrivateKey`,
      detail: "It is no RSA private key in PEM: give the text of the file that GitHub gave for the App.",
    });
  if (githubApp && !credentials.githubAppPrivateKey) faults.push(keyNeeded);
  return faults;
}

const keyNeeded: Fault = {
  pointer: "/spec/credentials/githubAppPrivateKey",
  detail: "A GitHub App signs in with its private key: give the text of the file that GitHub gave for the App.",
};

/** Credentials that stay must fit what is new: a GitHub App has never had its key when it was not there before. */
export function keptFaults(spec: Record<string, unknown>, before: Record<string, unknown> | undefined): Fault[] {
  const given = spec.credentials !== undefined || spec.sealedCredentials !== undefined;
  return spec.githubApp && !given && !before?.githubApp ? [keyNeeded] : [];
}

function isRsaKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === "rsa";
  } catch {
    return false;
  }
}

const names = (fields: readonly string[]) => fields.map((field) => `\`${field}\``).join(", ");
