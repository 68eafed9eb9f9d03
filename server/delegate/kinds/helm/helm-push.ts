import { join } from "node:path";
import type { Readable } from "node:stream";
import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsHelmPush } from "../../../../openapi/contract/validators.js";
import { failed, type KindResult, type TaskContext, type TaskKindHandler } from "../../kind.ts";
import { openTaskFile, type TaskFile } from "../../task/task-files.ts";
import { HttpRepository } from "../artifact/http-repository.ts";
import { ociFlags } from "./chart.ts";
import { failedAs, lacksHelm, openHelm } from "./helm.ts";

type Params = Schemas["TaskParamsHelmPush"];
const UPLOAD_MS = 600_000;

/** Pushes a chart's package to an OCI registry with Helm, or over HTTP as Nexus and ChartMuseum take it. */
export const helmPush: TaskKindHandler<Params> = {
  validate: validateTaskParamsHelmPush,
  lacks: lacksHelm,

  async run(params, context) {
    const { artifact } = params;
    if (!artifact.name.endsWith(".tgz"))
      return failed("ParamsInvalid", "/params/artifact/name: a chart's package ends in .tgz");
    if ((params.username === undefined) !== (params.password === undefined))
      return failed("ParamsInvalid", "/params: a login has both `username` and `password`");
    const folder = join(context.workspace.work, "package");
    const file = join(folder, artifact.name);
    const got = await context.download(artifact, file);
    if (got.kind !== "done") return failed(got.reason, got.message);
    if (params.to.startsWith("oci:")) return toRegistry(params, file, context);
    const opened = await openTaskFile(context.workspace.dir, folder, artifact.name);
    if (opened.kind !== "done") return failed(opened.reason, opened.message);
    try {
      return await toHttp(params, opened.value, context);
    } finally {
      await opened.value.close();
    }
  },
};

async function toHttp(params: Params, file: TaskFile, context: TaskContext): Promise<KindResult> {
  const { artifact } = params;
  const sha256 = await file.digest("sha256");
  const body = { size: file.size, open: file.stream };
  const base = params.to.replace(/\/+$/, "");
  if (params.method === "chartmuseum") return toChartMuseum(params, base, body, sha256, context);
  const url = `${base}/${encodeURIComponent(artifact.name).replaceAll("%2B", "+")}`;
  const sent = await new HttpRepository(params, context).put(url, body);
  return sent.kind === "done"
    ? { outcome: "succeeded", outputs: { url, digest: `sha256:${sha256}` } }
    : failed(sent.reason, sent.message);
}

async function toRegistry(params: Params, file: string, context: TaskContext): Promise<KindResult> {
  const helm = await openHelm(context);
  const flags = await ociFlags({ ...params, address: params.to }, helm, context);
  const ran = await helm.run("push", ...flags, "--", file, params.to);
  if (ran.failure) return failedAs(ran.failure);
  const said = [...ran.stdout, ...ran.stderr].join("\n");
  const [, url = params.to] = /^Pushed: (\S+)/m.exec(said) ?? [];
  const [, digest = ""] = /^Digest: (sha256:[0-9a-f]{64})/m.exec(said) ?? [];
  return { outcome: "succeeded", outputs: { url: `oci://${url.replace(/^oci:\/\//, "")}`, digest } };
}

async function toChartMuseum(
  { username, password, caCertificate }: Params,
  base: string,
  body: { size: number; open(): Readable },
  sha256: string,
  context: TaskContext,
): Promise<KindResult> {
  const url = base.endsWith("/api/charts") ? base : `${base}/api/charts`;
  const login: Record<string, string> =
    username === undefined
      ? {}
      : { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}` };
  const headers = { "content-type": "application/gzip", ...login };
  const ca = caCertificate === undefined ? {} : { caCertificate };
  const sent = await context.fetch(url, { method: "POST", headers, body, deadlineMs: UPLOAD_MS, ...ca });
  if (sent.kind !== "done") return failed("RepositoryUnreachable", sent.message);
  const { status } = sent.value;
  if (status < 300) return { outcome: "succeeded", outputs: { url, digest: `sha256:${sha256}` } };
  if (status === 401 || status === 403)
    return failed("LoginRefused", `${url}: the repository rejects the login: check user name and password`);
  if (status === 409)
    return failed("UploadRefused", `${url}: this version is there already, and the repository keeps it`);
  return failed(
    "UploadRefused",
    `${url}: it answered ${status} (${sent.value.body.toString("utf8").replace(/\s+/g, " ").slice(0, 200)})`,
  );
}
