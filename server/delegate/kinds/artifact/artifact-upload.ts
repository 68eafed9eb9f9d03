import { join } from "node:path";
import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsArtifactUpload } from "../../../../openapi/contract/validators.js";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { failed, type TaskContext, type TaskKindHandler } from "../../kind.ts";
import { openTaskFile, type TaskFile } from "../../task/task-files.ts";
import { HttpRepository } from "./http-repository.ts";
import { uploadMaven } from "./maven.ts";

type Params = Schemas["TaskParamsArtifactUpload"];

/** Uploads a file to an HTTP repository: to its own address, or as an artefact of Maven with checksums and metadata. */
export const artifactUpload: TaskKindHandler<Params> = {
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
    try {
      const { size } = file.value;
      const sha256 = await file.value.digest("sha256");
      const repository = new HttpRepository(params, context);
      const sent =
        layout === "maven"
          ? await uploadMaven({ root: params.url, file: file.value, maven: maven! }, repository)
          : await sendRaw(repository, { size, open: file.value.stream }, params.url, sha256);
      if (sent.kind !== "done") return failed(sent.reason, sent.message);
      await context.progress(`${sent.value} has ${size} bytes, sha256 ${sha256}`);
      return { outcome: "succeeded", outputs: { url: sent.value, sha256, size } };
    } finally {
      await file.value.close();
    }
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

async function fileOf({ artifact, source, path }: Params, context: TaskContext): Promise<Outcome<TaskFile>> {
  if ((artifact === undefined) === (source === undefined))
    return stop("ParamsInvalid", "/params: give one of `artifact` and `source`");
  if (artifact) {
    const to = join(context.workspace.dir, "upload");
    const got = await context.download(artifact, to);
    return got.kind === "done" ? openTaskFile(context.workspace.dir, context.workspace.dir, "upload") : got;
  }
  if (path === undefined) return stop("ParamsInvalid", "/params/path: say which file of the source is meant");
  const folder = await context.source(source);
  if (folder.kind !== "done") return folder;
  const file = await openTaskFile(context.workspace.dir, folder.value, path);
  return file.kind === "done" ? file : stop(file.reason, `/params/path: ${file.message}`);
}
