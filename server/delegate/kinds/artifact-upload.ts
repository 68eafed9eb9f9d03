import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Schemas } from "../../../openapi/client.ts";
import { validateTaskParamsArtifactUpload } from "../../../openapi/contract/validators.js";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import { digestOf } from "../artifact-client.ts";
import { inside } from "../inside.ts";
import { HttpRepository } from "./http-repository.ts";
import { type Context, failed, type Kind } from "./kind.ts";
import { uploadMaven } from "./maven.ts";

type Params = Schemas["TaskParamsArtifactUpload"];

/** Uploads a file to an HTTP repository: to its own address, or as an artefact of Maven with checksums and metadata. */
export const artifactUpload: Kind<Params> = {
  validate: validateTaskParamsArtifactUpload,

  async lacks() {
    return undefined;
  },

  async run(params, context) {
    const { layout, maven } = params;
    if (layout === "maven" && !maven)
      return failed("ParamsInvalid", "/params/maven: the layout maven needs groupId, artifactId and version");
    const file = await fileOf(params, context);
    if (file.kind !== "done") return failed(file.reason, file.message);
    const { size } = await stat(file.value);
    const sha256 = await digestOf(file.value, "sha256");
    const repository = new HttpRepository(params, context);
    const body = { size, open: () => createReadStream(file.value) };
    const sent =
      layout === "maven"
        ? await uploadMaven({ root: params.url, file: file.value, body, maven: maven! }, repository)
        : await sendRaw(repository, body, params.url, sha256);
    if (sent.kind !== "done") return failed(sent.reason, sent.message);
    await context.progress(`${sent.value} has ${size} bytes, sha256 ${sha256}`);
    return { outcome: "succeeded", outputs: { url: sent.value, sha256, size } };
  },
};

// Nexus and Artifactory compare what arrives with it.
async function sendRaw(
  repository: HttpRepository,
  body: Parameters<HttpRepository["put"]>[1],
  url: string,
  sha256: string,
): Promise<Outcome<string>> {
  const sent = await repository.put(url, body, { "x-checksum-sha256": sha256 });
  return sent.kind === "done" ? done(url) : sent;
}

async function fileOf({ artifact, source, path }: Params, context: Context): Promise<Outcome<string>> {
  if ((artifact === undefined) === (source === undefined)) return stop("ParamsInvalid", "/params: give one of `artifact` and `source`");
  if (artifact) {
    const to = join(context.workspace.dir, "upload");
    const got = await context.download(artifact, to);
    return got.kind === "done" ? done(to) : got;
  }
  if (path === undefined) return stop("ParamsInvalid", "/params/path: say which file of the source is meant");
  const folder = await context.source(source);
  if (folder.kind !== "done") return folder;
  const file = await inside(folder.value, path);
  if (file.kind !== "done") return stop(file.reason, `/params/path: ${file.message}`);
  return (await stat(file.value)).isFile()
    ? file
    : stop("PathRefused", `/params/path: ${JSON.stringify(path)} is a folder; one file is uploaded`);
}
