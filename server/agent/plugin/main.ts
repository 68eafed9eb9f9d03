import { readFileSync, rmSync } from "node:fs";
import { chmod, mkdir, rename } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { readConfig } from "./config.ts";
import { pluginServer } from "./server.ts";

// Where a sidecar made for Argo CD has them.
const HOME = "/home/argocd/cmp-server";

/**
 * `outpost plugin-server`: a sidecar of the repo server that renders with a tool of the user's own.
 *
 *   OUTPOST_PLUGIN_CONFIG    the ConfigManagementPlugin (default /home/argocd/cmp-server/config/plugin.yaml)
 *   OUTPOST_PLUGIN_SOCKETS   folder shared with the repo server (default /home/argocd/cmp-server/plugins)
 *   OUTPOST_PLUGIN_TIMEOUT   seconds that one rendering may take (default 90)
 *   OUTPOST_PLUGIN_OUTPUT    bytes that one may print (default 50000000)
 *   OUTPOST_PLUGIN_WORK      where the files of a rendering are while it lasts (default a folder of its own in /tmp)
 */
export async function runPluginServer(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  const log = pino({ level: env.OUTPOST_LOG_LEVEL || "info", name: "plugin-server" });
  const file = env.OUTPOST_PLUGIN_CONFIG || `${HOME}/config/plugin.yaml`;
  const config = readConfig(readFileSync(file, "utf8"), file);
  if (config.kind !== "done") throw new Error(config.message);
  const seconds = positive(env.OUTPOST_PLUGIN_TIMEOUT, 90, "OUTPOST_PLUGIN_TIMEOUT");
  const maxBytes = positive(env.OUTPOST_PLUGIN_OUTPUT, 50_000_000, "OUTPOST_PLUGIN_OUTPUT");
  const folder = env.OUTPOST_PLUGIN_WORK || join(tmpdir(), `outpost-plugin-${process.pid}`);
  const server = pluginServer(config.value, { folder, deadlineMs: seconds * 1_000, maxBytes }, (fields, message) =>
    log.warn(fields, message),
  );
  const sockets = env.OUTPOST_PLUGIN_SOCKETS || `${HOME}/plugins`;
  await mkdir(sockets, { recursive: true });
  const socket = join(sockets, `${config.value.name}.sock`);
  // It gets its name when it listens, so a socket that is found always answers.
  const coming = join(sockets, `.${config.value.name}.${process.pid}`);
  rmSync(coming, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(coming, resolve);
  });
  // The repo server may run as another user of the Pod's group.
  await chmod(coming, 0o660);
  await rename(coming, socket);
  log.info({ plugin: config.value.name, socket }, "plugin server is ready");
  await new Promise<void>((resolve) =>
    signal.aborted ? resolve() : signal.addEventListener("abort", () => resolve(), { once: true }),
  );
  rmSync(socket, { force: true });
  server.close();
  rmSync(folder, { recursive: true, force: true });
}

function positive(text: string | undefined, otherwise: number, name: string): number {
  if (!text) return otherwise;
  const value = Number(text);
  if (!(value > 0)) throw new Error(`${name} takes a number above 0, not ${JSON.stringify(text)}`);
  return value;
}
