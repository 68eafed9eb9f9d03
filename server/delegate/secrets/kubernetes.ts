import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { done, type Outcome } from "../../base/outcome.ts";
import { KubeClient } from "../../kube/client.ts";
import { type KubeConfig, loadConfig, parseKubeconfig } from "../../kube/config.ts";
import { KUBE } from "../../kube/errors.ts";
import { at } from "./http.ts";
import { notFound, refused, type SecretSource, unavailable, utf8 } from "./source.ts";

const NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

export interface KubernetesSource {
  env: NodeJS.ProcessEnv;
  /** A file, for another cluster than the one the delegate runs in. */
  kubeconfig?: string | undefined;
  context?: string | undefined;
}

/** `kubernetes/[NAMESPACE/]NAME#KEY`: a Secret of the cluster that the delegate runs in, read with the delegate's own rights. */
export const kubernetesSource = (options: KubernetesSource): SecretSource => ({
  async read(path, key, signal) {
    if (key === undefined) return refused("a Secret has several values: add #KEY");
    const parts = path.split("/");
    const [name = "", namespace] = [...parts].reverse();
    if (parts.length > 2 || !NAME.test(name) || (namespace !== undefined && !NAME.test(namespace)))
      return refused("a path is NAME or NAMESPACE/NAME");
    // Read again each time: certificates and tokens are replaced while a delegate runs.
    const config = access(options);
    if (config.kind !== "done") return config;
    const where = namespace ?? config.value.namespace;
    const client = new KubeClient(config.value);
    try {
      const read = await client.json("GET", `/api/v1/namespaces/${where}/secrets/${name}`, { signal });
      if (read.kind === "done") {
        const data = at(read.value, "data", key);
        return typeof data === "string"
          ? utf8(Buffer.from(data, "base64"))
          : notFound(`the Secret ${where}/${name} has no key ${key}`);
      }
      if (read.reason === KUBE.notFound || read.reason === KUBE.namespaceNotFound)
        return notFound(`there is no Secret ${name} in the namespace ${where}`);
      if (read.reason === KUBE.forbidden)
        return refused(
          `the delegate may not read Secret ${name} in the namespace ${where}: give it a Role with get on secrets`,
        );
      return read.kind === "stop" ? refused(read.message) : unavailable(read.message);
    } catch (error) {
      return unavailable((error as Error).message);
    } finally {
      void client.close();
    }
  },
});

function access({ env, kubeconfig, context }: KubernetesSource): Outcome<KubeConfig> {
  if (!kubeconfig && !env.KUBERNETES_SERVICE_HOST)
    return refused("the delegate does not run in a cluster; give it a source of type kubernetes with a kubeconfig");
  try {
    if (!kubeconfig) return done(loadConfig({ ...env, KUBECONFIG: "" }));
    return done(
      parseKubeconfig(readFileSync(kubeconfig, "utf8"), {
        ...(context ? { context } : {}),
        folder: dirname(kubeconfig),
      }),
    );
  } catch (error) {
    const { code, message, name } = error as NodeJS.ErrnoException;
    const what = kubeconfig ? `the kubeconfig ${kubeconfig}` : "the Pod's service account";
    // The parser of YAML quotes what it does not understand.
    return refused(`${what} cannot be used: ${name.startsWith("YAML") ? "it is not YAML" : (code ?? message)}`);
  }
}
