/**
 * The supervisor of a node, run inside its namespaces by inner.sh: starts the programs, waits until the node is Ready, restarts
 * what ends, and is the inner end of the bridge.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import type { Server } from "node:net";
import { accepts, until } from "../servers/run.ts";
import { listenThrough, serveBridge } from "./bridge.ts";
import { NODE_NAME, network } from "./network.ts";
import { type Component, components, firstObjects, type Plan, type Status } from "./plan.ts";

/** A step of the start that takes longer has failed; the slowest takes four seconds on a quiet machine. */
const STEP_MS = 180_000;
/** A program that ended is started again after this. */
const RESTART_MS = 1000;

const dir = process.argv[2]!;
const plan: Plan = JSON.parse(readFileSync(`${dir}/plan.json`, "utf8"));
const status: Status = { phase: "starting", lines: [], restarts: {} };
const began = Date.now();
const running = new Map<string, ChildProcess>();
let failure: Error | undefined;

/** Others read the file at any moment, so it is replaced whole. */
function publish(change: Partial<Status>): void {
  Object.assign(status, change);
  writeFileSync(`${dir}/status.json.new`, JSON.stringify(status));
  renameSync(`${dir}/status.json.new`, `${dir}/status.json`);
}

const say = (line: string) =>
  publish({ lines: [...status.lines, `${line}: ${((Date.now() - began) / 1000).toFixed(1)} s`] });

function tail(name: string): string {
  return readFileSync(`${dir}/logs/${name}.log`, "utf8").trimEnd().split("\n").slice(-12).join("\n");
}

function start(component: Component): void {
  const [file, ...args] = component.command;
  const log = openSync(`${dir}/logs/${component.name}.log`, "a");
  const env = {
    ...process.env,
    PATH: [...plan.path, process.env.PATH, "/usr/sbin:/sbin"].join(":"),
    LD_LIBRARY_PATH: plan.libraries.join(":"),
    KUBECONFIG: `${dir}/pki/admin.kubeconfig`,
  };
  const child = spawn(file!, args, { stdio: ["ignore", log, log], env });
  closeSync(log);
  running.set(component.name, child);
  const ended = (how: string) => {
    if (status.phase === "starting")
      failure ??= new Error(`${component.name} ${how}; the end of its log:\n${tail(component.name)}`);
    else {
      publish({ restarts: { ...status.restarts, [component.name]: (status.restarts[component.name] ?? 0) + 1 } });
      setTimeout(() => start(component), RESTART_MS);
    }
  };
  child.once("error", (error) => ended(error.message));
  child.once("exit", (code, signal) => ended(`ended with ${signal ?? `code ${code}`}`));
}

/** Waits for a step; a program that ends meanwhile fails it at once, with its log. */
async function wait(what: string, program: string, check: () => Promise<boolean>): Promise<void> {
  await until(
    what,
    async () => {
      if (failure) throw failure;
      return check();
    },
    STEP_MS,
  ).catch((error: Error) => {
    throw failure ?? new Error(`${error.message}; the end of the log of ${program}:\n${tail(program)}`);
  });
  say(what);
}

const pki = (name: string) => readFileSync(`${dir}/pki/${name}`);

/** One request to the API server; undefined when it cannot be reached. */
function api(method: string, path: string, body?: unknown): Promise<{ code: number; body: string } | undefined> {
  return new Promise((resolve) => {
    const tls = { ca: pki("ca.crt"), cert: pki("admin.crt"), key: pki("admin.key") };
    const headers = body ? { "content-type": "application/json" } : {};
    const asked = request(
      { host: "127.0.0.1", port: network.apiPort, method, path, headers, agent: false, timeout: 5000, ...tls },
      (answer) => {
        let text = "";
        answer.setEncoding("utf8");
        answer.on("data", (chunk) => {
          text += chunk;
        });
        answer.on("end", () => resolve({ code: answer.statusCode ?? 0, body: text }));
      },
    );
    asked.on("timeout", () => asked.destroy());
    asked.on("error", () => resolve(undefined));
    asked.end(body && JSON.stringify(body));
  });
}

const answers = async (path: string) => (await api("GET", path))?.code === 200;

async function nodeReady(): Promise<boolean> {
  const answer = await api("GET", `/api/v1/nodes/${NODE_NAME}`);
  if (answer?.code !== 200) return false;
  const conditions: { type: string; status: string }[] = JSON.parse(answer.body).status?.conditions ?? [];
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}

async function create(path: string, body: unknown): Promise<boolean> {
  const answer = await api("POST", path, body);
  return answer?.code === 201 || answer?.code === 409;
}

async function bringUp(): Promise<void> {
  const all = components(plan);
  for (const component of all) if (!component.after) start(component);
  await wait("containerd answers", "containerd", () => accepts({ path: `${dir}/containerd.sock` }));
  await wait("API server ready", "kube-apiserver", () => answers("/readyz"));
  for (const component of all) if (component.after) start(component);
  for (const { path, body } of firstObjects())
    await wait(`created ${path.split("/").at(-1)}`, "kube-apiserver", () => create(path, body));
  await wait("service accounts made", "kube-controller-manager", () =>
    answers("/api/v1/namespaces/default/serviceaccounts/default"),
  );
  await wait("DNS answers", "coredns", () => accepts({ host: network.node, port: 53 }));
  await wait("node Ready", "kubelet", nodeReady);
  publish({ phase: "ready" });
}

const listeners = new Map<number, Server>();

await serveBridge(`${dir}/inside.sock`, () => true, {
  /** Makes a server of the host appear on the node's address. */
  listen: async ({ port }) => {
    const at = Number(port);
    if (listeners.has(at)) return;
    listeners.set(
      at,
      await listenThrough({ host: network.node, port: at }, `${dir}/outside.sock`, { host: "127.0.0.1", port: at }),
    );
  },
  close: ({ port }) => {
    listeners.get(Number(port))?.close();
    listeners.delete(Number(port));
  },
});
await bringUp().catch((error: Error) => publish({ phase: "failed", message: error.message }));
