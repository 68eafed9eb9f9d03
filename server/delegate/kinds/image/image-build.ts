import { join } from "node:path";
import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsImageBuild } from "../../../../openapi/contract/validators.js";
import { type Failure, stop } from "../../../base/outcome.ts";
import { inside } from "../../config/safe-path.ts";
import { failed, type TaskContext, type TaskKindHandler } from "../../kind.ts";
import { Folder, makeTaskFolder, readTaskFile } from "../../task/task-files.ts";
import { type Builder, buildahLacks, prepareBuilder } from "./buildah.ts";
import { fromLayout } from "./image-copy.ts";
import { parseImages, pushAll } from "./push-all.ts";
import { takeLogins } from "./registry-logins.ts";

type Params = Schemas["TaskParamsImageBuild"];

/**
 * Builds an image with buildah, in storage of the task's own: no daemon, nothing of another task is seen and nothing is left. So there is
 * no cache of layers either: what one task leaves in one, the next would trust.
 */
export const imageBuild: TaskKindHandler<Params> = {
  validate: validateTaskParamsImageBuild,

  lacks: buildahLacks,

  async run(params, context) {
    const { source, context: below = ".", tags, push = true, archive, registries = [] } = params;
    const names = parseImages(tags);
    if (names.kind !== "done") return failed(names.reason, `/params/tags: ${names.message}`);
    const logins = await takeLogins(registries, context);
    if (logins.kind !== "done") return failed(logins.reason, logins.message);
    const folder = await context.source(source);
    if (folder.kind !== "done") return failed(folder.reason, folder.message);
    const place = await inside(folder.value, below);
    if (place.kind !== "done") return failed(place.reason, `/params/context: ${place.message}`);
    const file = params.dockerfile === undefined ? undefined : await inside(folder.value, params.dockerfile);
    if (file && file.kind !== "done") return failed(file.reason, `/params/dockerfile: ${file.message}`);
    const builder = await prepareBuilder(params.buildArgs ?? {}, logins.value, context);
    if (builder.kind !== "done") return failed(builder.reason, builder.message);
    const idFile = join(context.workspace.dir, "image-id");
    const wrong = await build(
      builder.value,
      [...buildArgs(params, idFile), ...(file ? ["--file", file.value] : []), "--", place.value],
      context,
    );
    if (wrong) return failed(wrong.reason, wrong.message);
    // Steps of the build may have put anything there.
    const imageId = /^(?:sha256:)?[0-9a-f]{64}$/.exec(
      ((await readTaskFile(context.workspace.dir, idFile, 256)) ?? "").trim(),
    )?.[0];
    if (imageId === undefined)
      return failed("BuildFailed", "buildah has not said which image it built; the log may say why");
    const outputs: Record<string, unknown> = { imageId, tags };
    if (!push && archive === undefined) return { outcome: "succeeded", outputs };

    const layout = join(context.workspace.dir, "image");
    await makeTaskFolder(context.workspace.dir, layout);
    const saved = await context.run(
      "buildah",
      [...builder.value.global, "push", "--quiet", "--format", "oci", imageId, `oci:${layout}`],
      {
        env: builder.value.env,
        users: true,
      },
    );
    if (saved.kind !== "done" || saved.value !== 0)
      return failed(
        "BuildFailed",
        "the image was built but could not be taken out of its storage; the log says why",
        outputs,
      );
    const image = await fromLayout(context.workspace.dir, layout);
    if (image.kind !== "done") return failed(image.reason, image.message, outputs);
    outputs.digest = image.value.root.digest;
    if (archive !== undefined) {
      const folder = await Folder.own(layout);
      const kept = await context
        .keep(archive, { parts: [{ name: "", content: folder }], gzip: false })
        .finally(() => folder.close());
      if (kept.kind !== "done") return failed(kept.reason, `/params/archive: ${kept.message}`, outputs);
    }
    if (push) {
      const pushed = await pushAll(image.value, tags, logins.value, context);
      if (pushed.kind !== "done") return failed(pushed.reason, pushed.message, outputs);
    }
    return { outcome: "succeeded", outputs };
  },
};

/** Values of build arguments are not here: buildah takes them from its environment, and a list of processes shows none. */
function buildArgs({ buildArgs = {}, labels = {}, target, platform }: Params, idFile: string): string[] {
  return [
    "--iidfile",
    idFile,
    ...Object.keys(buildArgs).flatMap((name) => ["--build-arg", name]),
    ...Object.entries(labels).flatMap(([name, value]) => ["--label", `${name}=${value}`]),
    ...(target === undefined ? [] : ["--target", target]),
    ...(platform === undefined ? [] : ["--platform", platform]),
  ];
}

const STEP = /^(?:\[\d+\/\d+\] )?STEP \d+(?:\/\d+)?: (.*)$/;

/** Undefined when it was built. The message names the step that failed and its error. */
async function build(
  { global, env }: Builder,
  args: readonly string[],
  context: TaskContext,
): Promise<Failure | undefined> {
  let step = "";
  let said: string[] = [];
  const seen = (stream: string, line: string) => {
    const found = STEP.exec(line)?.[1];
    if (found !== undefined) {
      step = found;
      said = [];
    } else if (stream === "stderr" && line.trim()) said = [...said.slice(-3), line.trim()];
  };
  const ran = await context.run(
    "buildah",
    [...global, "build", "--isolation", "chroot", "--format", "oci", "--no-cache", ...args],
    {
      env,
      seen,
      users: true,
    },
  );
  if (ran.kind !== "done") return stop(ran.reason, ran.message);
  if (ran.value === 0) return undefined;
  const alone = said.some((line) => line.includes("error setting supplemental groups list"))
    ? ". RUN needs more users than this delegate can give: run it as root with CAP_SYS_ADMIN, or with its user in /etc/subuid and OUTPOST_SANDBOX=off"
    : "";
  const why = said.join("; ").slice(0, 1_500) + alone;
  return stop(
    "BuildFailed",
    `the build ended with ${ran.value}${step ? ` at "${step.slice(0, 300)}"` : ""}${why ? `: ${why}` : "; the log says why"}`,
  );
}
