import type { Schemas } from "../../../openapi/client.ts";
import { validateRepositorySpec } from "../../../openapi/contract/validators.js";
import { again, done, type Outcome, stop } from "../../base/outcome.ts";
import type { WorkerObject } from "../../link/exchange.ts";
import { KUBE } from "../kube/errors.ts";
import type { KubeObject } from "../kube/object.ts";
import { RESOURCES } from "../kube/path.ts";
import type { Context } from "./context.ts";
import { withKnownHosts } from "./known-hosts.ts";
import { type Content, deleteOwn, findOwn, putManaged } from "./managed.ts";
import { data, field, openCredentials, SECRET_TYPE } from "./secrets.ts";

const CREDENTIALS = ["password", "bearerToken", "sshPrivateKey", "tlsClientCertData", "tlsClientCertKey"] as const;
const KNOWN_HOSTS = { name: "argocd-ssh-known-hosts-cm", key: "ssh_known_hosts" };

/** Writes a repository's Secret; credentials only change when new ones came. */
export async function putRepository(ctx: Context, object: WorkerObject): Promise<Outcome<undefined>> {
  if (!validateRepositorySpec(object.spec)) {
    const fault = validateRepositorySpec.errors?.[0];
    return stop(
      "SpecInvalid",
      `the specification does not fit this agent's contract: ${fault?.instancePath ?? ""} ${fault?.message ?? ""}; upgrade the agent`,
    );
  }
  const spec: Schemas["RepositorySpec"] = object.spec;
  const credentials = await openCredentials(ctx, object, CREDENTIALS);
  if (credentials.kind !== "done") return credentials;
  const build = (existing: KubeObject | undefined): Outcome<Content> => {
    const kept = credentials.value ? undefined : existing;
    const secret = Object.fromEntries(CREDENTIALS.map((name) => [name, credentials.value?.get(name)?.reveal() ?? field(kept, name)]));
    // Whoever may change the address must not be able to have the old password sent to a host of his choice.
    const before = field(existing, "url");
    if (kept && before && hostOf(before) !== hostOf(spec.url) && Object.values(secret).some(Boolean)) {
      return stop(
        "CredentialsRequired",
        `the address moved from ${hostOf(before)} to ${hostOf(spec.url)}; the credentials are not sent there unless they are set again (change credentialsVersion)`,
      );
    }
    const insecure = spec.insecure ? "true" : undefined;
    const fields = {
      url: spec.url,
      type: spec.type ?? "git",
      username: spec.username,
      insecure,
      insecureIgnoreHostKey: insecure,
      ...secret,
    };
    return done({ labels: { [SECRET_TYPE]: "repository" }, fields: { type: "Opaque", data: data(fields) } });
  };
  const written = await putManaged(ctx, RESOURCES.secret, object, build);
  if (written.kind !== "done") return written;
  return putKnownHosts(ctx, object.uid, spec.sshKnownHosts);
}

export async function removeRepository(ctx: Context, object: WorkerObject): Promise<Outcome<undefined>> {
  const found = await findOwn(ctx, RESOURCES.secret, object);
  if (found.kind !== "done") return found;
  const hosts = await putKnownHosts(ctx, object.uid, undefined);
  if (hosts.kind !== "done") return hosts;
  return found.value ? deleteOwn(ctx, RESOURCES.secret, found.value) : done(undefined);
}

async function putKnownHosts(ctx: Context, uid: string, lines: string | undefined): Promise<Outcome<undefined>> {
  const { name, key } = KNOWN_HOSTS;
  for (let attempt = 0; attempt < 5; attempt++) {
    const found = await ctx.client.get(RESOURCES.configMap, ctx.namespace, name);
    if (found.kind !== "done" && found.reason !== KUBE.notFound) return found;
    const existing = found.kind === "done" ? found.value : undefined;
    const before = String(existing?.data?.[key] ?? "");
    const text = withKnownHosts(before, uid, lines);
    if (text === before) return done(undefined);
    const base: KubeObject = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, namespace: ctx.namespace, labels: { "app.kubernetes.io/part-of": "argocd" } },
    };
    const next = { ...base, ...existing, data: { ...existing?.data, [key]: text } };
    const written = existing ? await ctx.client.update(RESOURCES.configMap, next) : await ctx.client.create(RESOURCES.configMap, next);
    if (written.kind === "done") return done(undefined);
    if (written.reason !== KUBE.conflict && written.reason !== KUBE.alreadyExists) return written;
  }
  return again(KUBE.conflict, `ConfigMap ${name} changes faster than it can be written`);
}

/** The host a credential goes to; scp's short form has it before the colon. */
function hostOf(url: string): string {
  return (URL.parse(url)?.host || /^[^@\s]+@([^:\s]+):/.exec(url)?.[1] || url).toLowerCase();
}
