import { SetController, type SetControllerOptions } from "../../server/agent/appset/controller.ts";
import { generate } from "../../server/agent/appset/generate.ts";
import { APPLICATION_SET } from "../../server/agent/appset/reconcile/reconcile.ts";
import type { ApplicationSetSpec, Free } from "../../server/agent/appset/types.ts";
import type { World as Given } from "../../server/agent/appset/world/world.ts";
import { done, stop } from "../../server/base/outcome.ts";
import { Secret } from "../../server/base/secret.ts";
import { KubeClient } from "../../server/kube/client.ts";
import type { World } from "./engine-world.ts";

const DEADLINE_MS = 60_000;
const log = {
  warn: () => {},
  error: (fields: object, message: string) => process.env.DEBUG && console.error(message, fields),
};

/** Sets beside the applications of a world, by the definitions of that cluster. */
export async function startSets(w: World): Promise<{ sets: SetController; home: KubeClient }> {
  const home = new KubeClient(w.client.config);
  await until(
    async () => (await home.list(APPLICATION_SET, { namespace: w.namespace })).kind === "done",
    (yes) => yes,
  );
  const { repo, repositories } = w.controller.deps;
  const happened: SetControllerOptions["happened"] = (set, reason, message) =>
    w.controller.events.tell(set, [{ type: "Normal", reason, message }]);
  const sets = new SetController({
    home,
    namespace: w.namespace,
    repo,
    access: (url) => repositories.find(url),
    happened,
    log,
  });
  await sets.start();
  return { sets, home };
}

/** What is read, once it fits. */
export async function until<T>(read: () => Promise<T>, fits: (value: T) => boolean, what = "as expected"): Promise<T> {
  const deadline = Date.now() + DEADLINE_MS;
  for (;;) {
    const found = await read();
    if (fits(found)) return found;
    if (Date.now() > deadline) throw new Error(`not ${what} within 60 s: ${JSON.stringify(found, null, 1)}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

const none = async () => stop("Nothing", "not here");

/** The key of the token in the world of `worldWith`. */
export const TOKEN_REF = { secretName: "host", key: "token" };

/** What a generator may ask for: one token, and nothing else. */
export const worldWith = (token: string, allowedProviders?: string[]): Given => ({
  clusters: () => [],
  directories: none,
  files: none,
  secret: async (name, key) =>
    name === "host" && key === "token" ? done(new Secret(token)) : stop("Nothing", `there is no ${name}`),
  githubApp: none,
  configMap: none,
  objects: none,
  allowedProviders,
});

/** Every set of parameters that a generator makes, as this text, or why there are none. */
export async function ask(generator: object, text: string, world: Given): Promise<string[] | string> {
  const spec: ApplicationSetSpec = {
    goTemplate: true,
    goTemplateOptions: ["missingkey=error"],
    generators: [generator as Free],
    template: { metadata: { name: "n", annotations: { text } }, spec: {} },
  };
  const made = await generate("set", spec, world);
  return made.kind === "done" ? made.value.map(({ metadata }) => metadata.annotations!.text!).sort() : made.message;
}
