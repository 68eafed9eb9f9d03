import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsImagePush } from "../../../../openapi/contract/validators.js";
import { done, type Outcome } from "../../../base/outcome.ts";
import { failed, type TaskContext, type TaskKindHandler } from "../../kind.ts";
import { unpack } from "../../task/archive.ts";
import { makeTaskFolder } from "../../task/task-files.ts";
import { fromLayout, fromRegistry, type ImageSource } from "./image-copy.ts";
import { parseImage } from "./image-ref.ts";
import { parseImages, pushAll } from "./push-all.ts";
import { type RegistryLogin, takeLogins } from "./registry-logins.ts";

type Params = Schemas["TaskParamsImagePush"];

/** Copies an image with all its platforms to other names; its digest stays. It speaks with the registries itself and needs no program. */
export const imagePush: TaskKindHandler<Params> = {
  validate: validateTaskParamsImagePush,

  async lacks() {
    return undefined;
  },

  async run(params, context) {
    const { artifact, from, to, registries = [] } = params;
    if ((artifact === undefined) === (from === undefined))
      return failed("ParamsInvalid", "/params: give one of `artifact` and `from`");
    const names = parseImages(to);
    if (names.kind !== "done") return failed(names.reason, `/params/to: ${names.message}`);
    const logins = await takeLogins(registries, context);
    if (logins.kind !== "done") return failed(logins.reason, logins.message);
    const source = artifact ? await fromArtifact(artifact, context) : await fromName(from!, logins.value, context);
    if (source.kind !== "done") return failed(source.reason, source.message);
    const pushed = await pushAll(source.value, to, logins.value, context);
    if (pushed.kind !== "done") return failed(pushed.reason, pushed.message);
    return { outcome: "succeeded", outputs: { digest: pushed.value, tags: to } };
  },
};

async function fromName(
  name: string,
  logins: readonly RegistryLogin[],
  context: TaskContext,
): Promise<Outcome<ImageSource>> {
  const image = parseImage(name);
  return image.kind === "done" ? fromRegistry(image.value, logins, context) : image;
}

async function fromArtifact(ref: Schemas["ArtifactRef"], context: TaskContext): Promise<Outcome<ImageSource>> {
  const file = join(context.workspace.dir, "image.tar");
  const layout = join(context.workspace.dir, "image");
  const got = await context.download(ref, file);
  if (got.kind !== "done") return got;
  await makeTaskFolder(context.workspace.dir, layout);
  const unpacked = await unpack(file, layout, context.signal);
  if (unpacked.kind !== "done") return unpacked;
  await rm(file, { force: true });
  const source = await fromLayout(context.workspace.dir, layout);
  return source.kind === "done"
    ? done(source.value)
    : { ...source, message: `${ref.name} of ${ref.task}: ${source.message}` };
}
