/** Brings the world up once for all journeys, by the same command that the README gives to people; `npm test` builds first. */
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { createWriteStream, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
// A name of one's own lets two runs of one checkout live side by side.
const folder = process.env.OUTPOST_QUICKSTART || ".journeys";
/** The developer's own sign-ins and stack are not touched. */
export const worldEnv = {
  OUTPOST_QUICKSTART: folder,
  OUTPOST_CONFIG: join(root, ".test", folder, "config.json"),
  NO_COLOR: "1",
};

export default async function setup() {
  Object.assign(process.env, worldEnv);
  mkdirSync(join(root, ".test", folder), { recursive: true });
  rmSync(join(root, ".test", folder, "config.json"), { force: true });
  // What an interrupted run left behind would make this one look better than it is.
  if (!process.env.KEEP_WORLD) await quickstart("down", ["--down"]);
  const took = await quickstart("up", ["--port", String(await freePort())]);
  writeFileSync(join(root, ".test", folder, "up.json"), JSON.stringify({ took }));
}

export async function teardown() {
  if (!process.env.KEEP_WORLD) await quickstart("down", ["--down"]);
}

/** Runs it with its words in `.test/world/NAME.log`; gives how long it took. */
function quickstart(name, args) {
  const started = Date.now();
  const file = join(root, ".test", folder, `${name}.log`);
  return new Promise((resolve, reject) => {
    const log = createWriteStream(file);
    const child = spawn(process.execPath, [join(root, "test/quickstart.mjs"), ...args], {
      cwd: root,
      env: { ...process.env, ...worldEnv },
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
    child.once("error", reject);
    child.once("close", (code) =>
      log.end(() =>
        code === 0
          ? resolve(Date.now() - started)
          : reject(new Error(`quickstart ${args.join(" ")} exited ${code}:\n${readFileSync(file, "utf8")}`)),
      ),
    );
  });
}

/** Below the ports that the kernel gives to connections, as that of test/servers/run.ts: the service is killed and started again on it. */
function freePort() {
  return new Promise((resolve) => {
    const port = randomInt(20_000, 30_000);
    const server = createServer();
    server.once("error", () => resolve(freePort()));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(port)));
  });
}
