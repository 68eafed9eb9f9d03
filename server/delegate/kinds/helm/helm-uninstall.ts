import type { Schemas } from "../../../../openapi/client.ts";
import { validateTaskParamsHelmUninstall } from "../../../../openapi/contract/validators.js";
import { failed, type TaskKindHandler } from "../../kind.ts";
import { waitUntil } from "../kubernetes/budget.ts";
import { kubeconfigFor } from "../kubernetes/cluster.ts";
import { failedAs, lacksHelm, openHelm } from "./helm.ts";
import { stateOf } from "./release.ts";

/** Uninstalls a release with Helm. */
export const helmUninstall: TaskKindHandler<Schemas["TaskParamsHelmUninstall"]> = {
  validate: validateTaskParamsHelmUninstall,
  lacks: lacksHelm,

  async run({ release, namespace, keepHistory = false, ignoreNotFound = true, wait = true, cluster }, context) {
    const until = waitUntil(context);
    const config = await kubeconfigFor(cluster, context);
    if (config.kind !== "done") return failed(config.reason, config.message);
    const { file, context: name, namespace: own } = config.value;
    const helm = await openHelm(context);
    const access = ["--kubeconfig", file, ...(name ? ["--kube-context", name] : []), "--namespace", namespace ?? own];
    const seconds = Math.max(1, Math.floor((until - performance.now()) / 1_000));
    const flags = [
      ...access,
      ...(keepHistory ? ["--keep-history"] : []),
      ...(wait ? ["--wait"] : []),
      `--timeout=${seconds}s`,
    ];
    const ran = await helm.run("uninstall", ...flags, "--", release);
    if (!ran.failure) return { outcome: "succeeded", outputs: { status: "uninstalled" } };
    const text = ran.stderr.join("\n");
    // With its history kept it is there and uninstalled.
    if (/release: not found|is already deleted/.test(text)) {
      if (!ignoreNotFound)
        return failed("ReleaseNotFound", `there is no release ${release} in the namespace ${namespace ?? own}`);
      const state = await stateOf(release, access, helm);
      return { outcome: "succeeded", outputs: { status: state?.status ?? "absent" } };
    }
    return failedAs(ran.failure);
  },
};
