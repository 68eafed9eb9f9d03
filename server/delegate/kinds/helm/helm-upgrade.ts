import { join } from "node:path";
import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsHelmUpgrade } from "../../../../openapi/contract/validators.js";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { inside } from "../../config/safe-path.ts";
import { failed, type TaskContext, type TaskKindHandler } from "../../kind.ts";
import { putTaskFile } from "../../task/task-files.ts";
import { waitUntil } from "../kubernetes/budget.ts";
import { kubeconfigFor, openCluster } from "../kubernetes/cluster.ts";
import { type Chart, takeChart } from "./chart.ts";
import { failedAs, lacksHelm, openHelm } from "./helm.ts";
import { pendingAdvice, stateOf, watchRelease } from "./release.ts";

type Params = Schemas["TaskParamsHelmUpgrade"];

/** Installs or upgrades a release with Helm, and says why it does not become ready. */
export const helmUpgrade: TaskKindHandler<Params> = {
  validate: validateTaskParamsHelmUpgrade,
  lacks: lacksHelm,

  async run(params, context) {
    const until = waitUntil(context);
    const { release, wait = true, atomic = false, dryRun = false } = params;
    const helm = await openHelm(context);
    const chart = await takeChart(params.chart, helm, context);
    if (chart.kind !== "done") return failed(chart.reason, chart.message);
    const values = await valueFlags(params, chart.value, context);
    if (values.kind !== "done") return failed(values.reason, values.message);
    const config = await kubeconfigFor(params.cluster, context);
    if (config.kind !== "done") return failed(config.reason, config.message);
    const { file, context: name, namespace: own } = config.value;
    const namespace = params.namespace ?? own;
    const access = ["--kubeconfig", file, ...(name ? ["--kube-context", name] : []), "--namespace", namespace];
    // Going back takes as long again at most; a Helm that is ended in the middle of it leaves the release blocked.
    const share = atomic && !dryRun ? 0.5 : 1;
    const seconds = Math.max(1, Math.floor(((until - performance.now()) * share) / 1_000));
    const waiting = atomic || wait ? [atomic ? "--atomic" : "--wait"] : [];
    const flags = [
      ...access,
      ...chart.value.flags,
      ...values.value,
      ...((params.install ?? true) ? ["--install", ...(params.createNamespace ? ["--create-namespace"] : [])] : []),
      (params.resetValues ?? true) ? "--reset-values" : "--reset-then-reuse-values",
      ...(dryRun ? ["--dry-run=server", "--hide-secret"] : []),
      ...(dryRun ? [] : waiting),
      `--timeout=${seconds}s`,
    ];
    const opened = await openCluster(params.cluster, context);
    if (opened.kind !== "done") return failed(opened.reason, opened.message);
    const cluster = opened.value;
    const ended = new AbortController();
    try {
      const watched = (wait || atomic) && !dryRun;
      const about = { name: release, namespace, since: Date.now() };
      const watching = watched ? watchRelease(about, cluster, context, ended.signal) : Promise.resolve([]);
      const ran = await helm.run("upgrade", ...flags, "--", release, chart.value.name);
      ended.abort();
      const trouble = await watching;
      if (ran.failure?.reason === "OperationInProgress")
        return failed("OperationInProgress", await pendingAdvice(release, access, helm));
      if (dryRun) return ran.failure ? failedAs(ran.failure) : { outcome: "succeeded", outputs: { dryRun } };
      const state = await stateOf(release, access, helm);
      const outputs = state ? { ...state } : {};
      if (!ran.failure) return { outcome: "succeeded", outputs };
      const why = trouble.length && ran.failure.reason === "NotReady" ? `: ${trouble.join("; ")}` : "";
      const after = atomic ? " (it was rolled back)" : "";
      return failed(ran.failure.reason, `${ran.failure.message}${after}${why}`, outputs);
    } finally {
      ended.abort();
      await cluster.close();
    }
  },
};

/** Values travel in files: a command line can be read by every process of the machine. */
async function valueFlags(
  { values, valueFiles = [], set = {} }: Params,
  chart: Chart,
  context: TaskContext,
): Promise<Outcome<string[]>> {
  const flags: string[] = [];
  for (const [i, path] of valueFiles.entries()) {
    if (!chart.folder)
      return stop(
        "ParamsInvalid",
        `/params/valueFiles/${i}: only a chart of a \`source\` has files beside it; use \`values\``,
      );
    const file = await inside(chart.folder, path);
    if (file.kind !== "done") return stop(file.reason, `/params/valueFiles/${i}: ${file.message}`);
    // Helm reads it as a line of CSV: a comma in a name would make two files of it.
    flags.push("--values", `"${file.value.replaceAll('"', '""')}"`);
  }
  const write = async (name: string, text: string) => {
    const file = join(context.workspace.dir, name);
    await putTaskFile(context.workspace.dir, file, text);
    return file;
  };
  if (values !== undefined) flags.push("--values", await write("values.yaml", values));
  for (const [i, [path, value]] of Object.entries(set).entries()) {
    if (/(?<!\\),/.test(path)) return stop("ParamsInvalid", `/params/set/${path}: a comma in a name is written \\,`);
    flags.push("--set-file", `${path}=${await write(`set-${i}`, value)}`);
  }
  return done(flags);
}
