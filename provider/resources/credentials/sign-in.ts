import type { Diagnostics } from "../../schema/diagnostics.ts";
import { attr, type Path, root } from "../../value/path.ts";
import { type field, stringField, type ValueMap } from "../../value/value.ts";
import { checkPem, given, known, PEM } from "../checks.ts";

const WAYS = [
  "password",
  "bearer_token",
  "ssh_private_key",
  "github_app_private_key",
  "gcp_service_account_key",
  "azure_service_principal_client_secret",
] as const;
const at = attr(root, "credentials");

/** How a repository or a credential template signs in: in one way, one that its address can take, and with the key that it needs. */
export function validateSignIn(config: ValueMap, diagnostics: Diagnostics): void {
  const secret = config.get("credentials") ?? null;
  const has = (name: string): boolean => given(secret, name);
  const ways = WAYS.filter((name) => known(secret, name));
  if (ways.length > 1)
    diagnostics.error(
      "Two ways to sign in",
      `Give only one of ${ways.map((name) => `\`${name}\``).join(" and ")}.`,
      attr(at, ways[1]!),
    );
  githubApp(config, diagnostics);
  azure(config, ways, diagnostics);
  serviceAccount(secret, diagnostics);
  if (has("tls_client_cert_data") !== has("tls_client_cert_key"))
    diagnostics.error("Half a client certificate", "`tls_client_cert_data` and `tls_client_cert_key` go together.", at);
  pem(
    secret,
    "ssh_private_key",
    PEM.privateKey,
    "A private key (`-----BEGIN OPENSSH PRIVATE KEY-----` or the like)",
    diagnostics,
  );
  pem(
    secret,
    "github_app_private_key",
    PEM.privateKey,
    "The private key of the GitHub App, as GitHub gives it,",
    diagnostics,
  );
  pem(secret, "tls_client_cert_data", PEM.certificate, "A certificate", diagnostics);
  pem(secret, "tls_client_cert_key", PEM.privateKey, "A private key", diagnostics);
  fitsAddress(config, ways, diagnostics);
}

function githubApp(config: ValueMap, diagnostics: Diagnostics): void {
  const secret = config.get("credentials") ?? null;
  // Without any credentials the agent keeps those that it has.
  if (known(config, "github_app") && known(config, "credentials") && !given(secret, "github_app_private_key"))
    diagnostics.error(
      "A GitHub App without its key",
      "`github_app` needs `credentials.github_app_private_key`.",
      attr(root, "github_app"),
    );
  if (known(secret, "github_app_private_key") && !given(config, "github_app"))
    diagnostics.error(
      "A key without its GitHub App",
      "`github_app_private_key` needs `github_app`, which says whose key it is.",
      attr(at, "github_app_private_key"),
    );
  if (known(config, "github_app") && known(config, "username"))
    diagnostics.error(
      "Two ways to sign in",
      "A GitHub App signs in by itself: leave `username` out.",
      attr(root, "username"),
    );
}

function azure(config: ValueMap, ways: readonly string[], diagnostics: Diagnostics): void {
  const secret = config.get("credentials") ?? null;
  const name = "azure_service_principal_client_secret";
  if (known(config, "azure_service_principal") && known(config, "credentials") && !given(secret, name))
    diagnostics.error(
      "A service principal without its secret",
      `\`azure_service_principal\` needs \`credentials.${name}\`.`,
      attr(root, "azure_service_principal"),
    );
  if (known(secret, name) && !given(config, "azure_service_principal"))
    diagnostics.error(
      "A secret without its service principal",
      `\`${name}\` needs \`azure_service_principal\`.`,
      attr(at, name),
    );
  const own = config.get("use_azure_workload_identity") === true;
  if (own && (ways.length > 0 || known(config, "azure_service_principal") || known(config, "github_app")))
    diagnostics.error(
      "Two ways to sign in",
      "The repo server's own identity in Azure signs in by itself: leave out the other.",
      attr(root, "use_azure_workload_identity"),
    );
}

function serviceAccount(secret: ReturnType<typeof field>, diagnostics: Diagnostics): void {
  const text = stringField(secret, "gcp_service_account_key");
  if (text === undefined) return;
  let type: unknown;
  try {
    type = (JSON.parse(text) as { type?: unknown } | null)?.type;
  } catch {
    // The parser would quote the text, which is a key.
  }
  if (type !== "service_account")
    diagnostics.error(
      "Not a service account",
      "Give the text of the JSON file that Google gives for a service account.",
      attr(at, "gcp_service_account_key"),
    );
}

function pem(
  secret: ReturnType<typeof field>,
  name: string,
  what: RegExp,
  wanted: string,
  diagnostics: Diagnostics,
): void {
  const text = stringField(secret, name);
  if (text !== undefined) checkPem(text, what, wanted, attr(at, name) as Path, diagnostics);
}

function fitsAddress(config: ValueMap, ways: readonly string[], diagnostics: Diagnostics): void {
  const url = stringField(config, "url");
  if (url === undefined) return;
  const ssh = /^(ssh:\/\/|[A-Za-z0-9_.-]+@[^\s:/]+:)/.test(url);
  const secret = config.get("credentials") ?? null;
  const wrong = ssh
    ? [
        ...ways.filter((name) => name !== "ssh_private_key"),
        ...(known(secret, "tls_client_cert_data") ? ["tls_client_cert_data"] : []),
      ]
    : ways.filter((name) => name === "ssh_private_key");
  if (wrong.length > 0)
    diagnostics.error(
      ssh ? "Not for SSH" : "Only for SSH",
      ssh
        ? `An SSH address takes \`ssh_private_key\` and not \`${wrong[0]}\`.`
        : "`ssh_private_key` needs an SSH address, such as ssh://git@host/repository.",
      attr(at, wrong[0]!),
    );
  if (
    config.get("insecure_oci_force_http") === true &&
    stringField(config, "type") !== "oci" &&
    !url.startsWith("oci://")
  )
    diagnostics.error(
      "Only for a registry",
      '`insecure_oci_force_http` is for `type = "oci"` or an oci:// address.',
      attr(root, "insecure_oci_force_http"),
    );
}
