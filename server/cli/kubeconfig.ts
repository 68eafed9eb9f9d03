import { usage } from "./output/failure.ts";
import type { Io } from "./output/io.ts";

/** The cluster that `--kubeconfig` and `--context` name. A file that cannot be used is a mistake of the command line. */
export function clusterOf<T>(
  io: Io,
  load: (env: NodeJS.ProcessEnv) => T,
  flags: { kubeconfig?: string; context?: string },
): T {
  try {
    return load({ ...io.env, KUBECONFIG: flags.kubeconfig ?? io.env.KUBECONFIG, OUTPOST_KUBE_CONTEXT: flags.context });
  } catch (error) {
    const { code, message, path } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") throw usage(`there is no file ${path}; name a kubeconfig with --kubeconfig or KUBECONFIG`);
    const what = message.split("\n")[0]!.replace(/:$/, "");
    throw usage(what.includes("kubeconfig") ? what : `the kubeconfig cannot be read: ${what}`);
  }
}
