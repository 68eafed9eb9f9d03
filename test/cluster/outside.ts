/**
 * The host's half of a node, in the background: owns the namespaces (they end with this process, and this process with them),
 * listens on loopback for the host's programs, and lets pods reach those servers of the host that were exposed.
 */
import { spawn } from "node:child_process";
import { openSync, renameSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { until } from "../servers/run.ts";
import { call, listenThrough, serveBridge, type Target } from "./bridge.ts";
import { removeGroup } from "./cgroups.ts";
import { network } from "./network.ts";
import { childOf, type Owner, owner } from "./process.ts";

/** What `node.json` says: who runs, and where its API server is. */
export interface Running {
  name: string;
  /** This process, and the first one inside the namespaces. */
  outside: Owner;
  inside: Owner;
  apiPort: number;
  cgroup: string;
}

const [dir, script, name, cgroup] = process.argv.slice(2) as [string, string, string, string];
const inside = `${dir}/inside.sock`;
const exposed = new Map<number, string[]>();
const forwarded = new Map<string, number>();

const replace = (file: string, text: string) => {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
};

/** Names of the exposed servers, as CoreDNS reads them. */
const writeHosts = () =>
  replace(
    `${dir}/hosts`,
    [...exposed.values()]
      .flat()
      .map((host) => `${network.node} ${host}\n`)
      .join(""),
  );

async function forward(target: Target): Promise<number> {
  const key = `${target.host}:${target.port}`;
  const known = forwarded.get(key);
  if (known) return known;
  const server = await listenThrough({ host: "127.0.0.1", port: 0 }, inside, target);
  const { port } = server.address() as AddressInfo;
  forwarded.set(key, port);
  return port;
}

const log = openSync(`${dir}/logs/inner.log`, "a");
// setpriv: should this process be killed, the kernel kills unshare too, and --kill-child all that is inside.
const unshare = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"];
const child = spawn("setpriv", ["--pdeathsig=KILL", "--", ...unshare, "bash", script, dir, process.execPath], {
  stdio: ["ignore", log, log],
});
child.once("exit", () =>
  removeGroup(cgroup).then(
    () => process.exit(0),
    (error) => {
      console.error(error);
      process.exit(1);
    },
  ),
);
child.once("error", (error) => {
  console.error(error);
  process.exit(1);
});
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => child.kill("SIGKILL"));

await serveBridge(`${dir}/outside.sock`, ({ host, port }) => host === "127.0.0.1" && exposed.has(port));
await serveBridge(`${dir}/control.sock`, () => false, {
  expose: async ({ port, names }) => {
    await call(inside, "listen", { port });
    exposed.set(Number(port), names as string[]);
    writeHosts();
  },
  unexpose: async ({ port }) => {
    exposed.delete(Number(port));
    writeHosts();
    await call(inside, "close", { port });
  },
  forward: async ({ host, port }) => ({ port: await forward({ host: String(host), port: Number(port) }) }),
});

const apiPort = await forward({ host: "127.0.0.1", port: network.apiPort });
const first = await until("the namespaces' first process", () => childOf(child.pid!));
const running: Running = { name, cgroup, outside: owner(process.pid)!, inside: owner(first)!, apiPort };
replace(`${dir}/node.json`, JSON.stringify(running, null, 2));
