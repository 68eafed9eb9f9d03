import { join } from "node:path";
import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsHelmPackage } from "../../../../openapi/contract/validators.js";
import { readYaml } from "../../../base/json/nesting.ts";
import { failed, type TaskKindHandler } from "../../kind.ts";
import { findTaskPath, makeTaskFolder } from "../../task/task-files.ts";
import { takeChart } from "./chart.ts";
import { failedAs, lacksHelm, openHelm } from "./helm.ts";

/** Packages a chart, and keeps the package as an artefact of the task. */
export const helmPackage: TaskKindHandler<Schemas["TaskParamsHelmPackage"]> = {
  validate: validateTaskParamsHelmPackage,
  lacks: lacksHelm,

  async run({ source, path = ".", version, appVersion, dependencyUpdate = false }, context) {
    const helm = await openHelm(context);
    const chart = await takeChart({ source, path, dependencyUpdate, plainHttp: false }, helm, context);
    if (chart.kind !== "done") return failed(chart.reason, chart.message);
    const to = join(context.workspace.dir, "package");
    await makeTaskFolder(context.workspace.dir, to);
    const given = [
      ...(version ? [`--version=${version}`] : []),
      ...(appVersion ? [`--app-version=${appVersion}`] : []),
    ];
    const ran = await helm.run(
      "package",
      `--destination=${to}`,
      ...given,
      ...chart.value.flags,
      "--",
      chart.value.name,
    );
    if (ran.failure) return failedAs(ran.failure);
    const made = await findTaskPath(context.workspace.dir, to, ".");
    const file =
      made.kind === "done" ? (await made.value.folder?.names())?.find((name) => name.endsWith(".tgz")) : undefined;
    if (made.kind === "done") await made.value.folder?.close();
    if (!file) return failed("HelmFailed", "helm made no package");
    const about = await helm.ask("show", "chart", "--", join(to, file));
    const { name, version: packaged } = readYaml(about ?? "", { maxAliasCount: 10 }) ?? {};
    const kept = await context.keep(file, { folder: to, path: file });
    if (kept.kind !== "done") return failed(kept.reason, kept.message);
    return { outcome: "succeeded", outputs: { name, version: packaged, artifact: file, sha256: kept.value.sha256 } };
  },
};
