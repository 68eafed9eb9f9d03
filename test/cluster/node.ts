import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { accepts, run, until } from "../servers/run.ts";
import { call } from "./bridge.ts";
import { makeCertificates, writeKubeconfig } from "./certificates.ts";
import { makeGroup, removeGroup } from "./cgroups.ts";
import { checkNode, checkTools, type Lack, lackLines } from "./checks.ts";
import { configFiles } from "./config.ts";
import { importLayout } from "./containerd.ts";
import { nodePackages, unpack } from "./debian.ts";
import { buildPauseImage, type Image } from "./image.ts";
import { network } from "./network.ts";
import type { Running } from "./outside.ts";
import type { Plan, Status } from "./plan.ts";
import { alive } from "./process.ts";
import { elapsed, type Progress, step } from "./progress.ts";
import { nodeTools } from "./recipes.ts";
import { buildTools } from "./tools.ts";

const here = fileURLToPath(new URL(".", import.meta.url));

/** A node that is not Ready by then will not be. */
const READY_MS = 240_000;
/** Unix socket paths end at 107 characters, and the longest name in the folder has 22. */
const DIR_LENGTH = 80;

/** A real Kubernetes cluster of one node, in namespaces of its own. */
export interface ClusterNode {
  readonly name: string;
  readonly dir: string;
  /** For kubectl, helm, terraform and our programs on the host. */
  readonly kubeconfig: string;
  readonly apiUrl: string;
  /** Runs kubectl against it and gives what it printed. */
  kubectl(...args: string[]): Promise<string>;
  /** `kubectl apply` of these objects. */
  apply(...objects: unknown[]): Promise<string>;
  /** Makes the host's 127.0.0.1:port reachable from pods, by the same port at these names. */
  expose(port: number, ...names: string[]): Promise<void>;
  unexpose(port: number): Promise<void>;
  /** A port of the host's loopback that leads to an address in the cluster: a NodePort by default, else any pod or Service. */
  forwardToHost(port: number, host?: string): Promise<number>;
  /** The same for a Service by name. */
  forwardService(namespace: string, service: string, port: number): Promise<number>;
  /** Brings an image into the node, also while pods run; they need `imagePullPolicy: IfNotPresent`. */
  importImage(image: Image): Promise<void>;
  status(): Status;
  /** Ends it and removes everything it made. */
  stop(): Promise<void>;
}

export interface NodeOptions {
  name: string;
  /** Its folder, made and removed by the node; at most 80 characters. */
  dir: string;
  progress?: Progress;
  /** Images to import while it starts. */
  images?: Image[];
  /** Ends the node when this process ends, however it ends; its folder stays for a look at the logs. Default false. */
  endWithMe?: boolean;
}

/** The machine cannot run a node; nothing has been changed. */
export class MachineLacks extends Error {
  constructor(readonly lacks: Lack[]) {
    super(`this machine cannot run a local node\n${lackLines(lacks).join("\n")}`);
  }
}

/** Starts a node, or gives the one that already runs in this folder. */
export async function startNode(options: NodeOptions): Promise<ClusterNode> {
  const { name, progress = () => {}, images = [] } = options;
  const dir = usable(options.dir);
  const found = findNode(dir);
  if (found) {
    progress(`node ${name}: reusing the one that runs`);
    for (const image of images) await found.importImage(image);
    return found;
  }
  const lacks = [...(await checkNode()), ...(await checkTools(nodeTools))];
  if (lacks.length) throw new MachineLacks(lacks);
  const programs = await buildTools(progress, nodeTools);
  const packages = await unpack("node", nodePackages, progress);
  const pause = await buildPauseImage(progress);
  await stopNode(dir);

  const began = Date.now();
  try {
    const cgroup = `outpost-${createHash("sha256").update(dir).digest("hex").slice(0, 8)}`;
    const runc = packages.path.map((folder) => join(folder, "runc")).find((file) => existsSync(file)) ?? "runc";
    const plan: Plan = {
      name,
      dir,
      programs,
      path: packages.path,
      libraries: packages.libraries,
      cni: join(packages.dir, "usr/lib/cni"),
      runc,
      cgroup,
    };
    await prepare(plan);
    startOutside(plan, options.endWithMe ?? false);
    await until("the host's half of the node", () => existsSync(join(dir, "node.json")) || outsideFailed(dir), 20_000);
    const node = findNode(dir);
    if (!node) throw new Error(`node ${name} ended at once:\n${logs(dir)}`);
    await Promise.all([importAll(node, [pause, ...images], progress), untilReady(node, progress)]);
    progress(`node ${name} Ready after ${elapsed(Date.now() - began)}`);
    return node;
  } catch (error) {
    await stopNode(dir);
    throw error;
  }
}

/** The node that runs in this folder, or undefined. */
export function findNode(folder: string): ClusterNode | undefined {
  const dir = resolve(folder);
  const running = readRunning(dir);
  return running && alive(running.outside) && alive(running.inside) ? handle(dir, running) : undefined;
}

/** Ends the node of a folder, whatever state it is in, and removes processes, control groups and the folder. */
export async function stopNode(folder: string): Promise<void> {
  const dir = resolve(folder);
  const plan = existsSync(join(dir, "plan.json"))
    ? (JSON.parse(readFileSync(join(dir, "plan.json"), "utf8")) as Plan)
    : undefined;
  const running = readRunning(dir);
  if (running) {
    // Killing the host's half takes the namespaces with it (see outside.ts), and with them every process of the node.
    if (alive(running.outside)) process.kill(running.outside.pid, "SIGTERM");
    await until("the node's end", () => !alive(running.outside), 5000).catch(() =>
      process.kill(running.outside.pid, "SIGKILL"),
    );
    await until("the end of the node's processes", () => !alive(running.inside), 15_000).catch(() =>
      process.kill(running.inside.pid, "SIGKILL"),
    );
  }
  if (!plan) return;
  await removeGroup(plan.cgroup);
  await rm(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}

function handle(dir: string, running: Running): ClusterNode {
  const control = join(dir, "control.sock");
  const kubeconfig = join(dir, "kubeconfig");
  const plan = (): Plan => JSON.parse(readFileSync(join(dir, "plan.json"), "utf8"));
  const kubectl = async (args: string[], input?: string) =>
    (
      await run(plan().programs.kubectl!, ["--kubeconfig", kubeconfig, ...args], {
        ...(input ? { input } : {}),
        deadlineMs: 300_000,
      })
    ).stdout;
  const forwardToHost = async (port: number, host: string = network.node) =>
    (await call<{ port: number }>(control, "forward", { host, port })).port;
  return {
    name: running.name,
    dir,
    kubeconfig,
    apiUrl: `https://127.0.0.1:${running.apiPort}`,
    kubectl: (...args) => kubectl(args),
    apply: (...items) => kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items })),
    expose: async (port, ...names) => void (await call(control, "expose", { port, names })),
    unexpose: async (port) => void (await call(control, "unexpose", { port })),
    forwardToHost,
    forwardService: async (namespace, service, port) => {
      const address = await kubectl(["-n", namespace, "get", "service", service, "-o", "jsonpath={.spec.clusterIP}"]);
      return forwardToHost(port, address.trim());
    },
    importImage: ({ layout }) => importLayout(plan(), layout),
    status: () => readStatus(dir),
    stop: () => stopNode(dir),
  };
}

async function prepare(plan: Plan): Promise<void> {
  const { dir } = plan;
  await mkdir(dir, { recursive: true, mode: 0o700 });
  for (const folder of ["logs", "cni", "pod-logs", "kubelet"]) await mkdir(join(dir, folder), { recursive: true });
  await writeFile(join(dir, "plan.json"), JSON.stringify(plan, null, 2));
  for (const [file, text] of Object.entries(configFiles(plan))) await writeFile(join(dir, file), text);
  makeGroup(plan.cgroup);
  await Promise.all([makeCertificates(join(dir, "pki")), bundle("inside", dir), bundle("outside", dir)]);
}

/** Both halves run as plain JavaScript from the node's folder: a later change of the sources does not reach a running node. */
async function bundle(name: string, dir: string): Promise<void> {
  const esbuild = join(dirname(createRequire(import.meta.url).resolve("esbuild/package.json")), "bin", "esbuild");
  const form = ["--bundle", "--platform=node", "--format=esm", "--log-level=warning"];
  await run(esbuild, [join(here, `${name}.ts`), ...form, `--outfile=${join(dir, `${name}.mjs`)}`]);
}

function startOutside({ dir, name, cgroup }: Plan, endWithMe: boolean): void {
  const log = openSync(join(dir, "logs", "outside.log"), "a");
  const args = [process.execPath, join(dir, "outside.mjs"), dir, join(here, "inner.sh"), name, cgroup];
  const tied = endWithMe ? ["--pdeathsig=TERM"] : [];
  spawn("setpriv", [...tied, "--", ...args], { detached: true, stdio: ["ignore", log, log], cwd: "/" }).unref();
  closeSync(log);
}

/** The host's half says why it could not start; it says nothing else. */
const outsideFailed = (dir: string) => logs(dir) !== "";
const logs = (dir: string) =>
  ["outside", "inner"]
    .map((name) => read(join(dir, "logs", `${name}.log`)).trim())
    .filter(Boolean)
    .join("\n");
const read = (file: string) => (existsSync(file) ? readFileSync(file, "utf8") : "");

async function importAll(node: ClusterNode, images: Image[], progress: Progress): Promise<void> {
  await until(
    "containerd",
    () => {
      const { phase, message } = node.status();
      if (phase === "failed") throw new Error(message);
      return accepts({ path: join(node.dir, "containerd.sock") });
    },
    READY_MS,
  );
  await step(progress, `imported ${images.length} images`, async () => {
    for (const image of images) await node.importImage(image);
  });
}

async function untilReady(node: ClusterNode, progress: Progress): Promise<void> {
  let told = 0;
  const running = readRunning(node.dir)!;
  await writeKubeconfig(join(node.dir, "pki"), "admin", node.kubeconfig, node.apiUrl, `outpost-${node.name}`);
  await until(
    `node ${node.name} Ready`,
    () => {
      const { phase, message, lines } = node.status();
      for (; told < lines.length; told++) progress(`  ${lines[told]}`);
      if (phase === "failed") throw new Error(`node ${node.name}: ${message}`);
      if (!alive(running.inside)) throw new Error(`node ${node.name} ended:\n${logs(node.dir)}`);
      return phase === "ready";
    },
    READY_MS,
  );
}

function readStatus(dir: string): Status {
  const text = read(join(dir, "status.json"));
  return text ? JSON.parse(text) : { phase: "starting", lines: [], restarts: {} };
}

function readRunning(dir: string): Running | undefined {
  const text = read(join(dir, "node.json"));
  return text ? JSON.parse(text) : undefined;
}

/** Refuses folders that the node hides from itself or whose sockets would have too long a name. */
function usable(folder: string): string {
  const dir = resolve(folder);
  if (dir.length > DIR_LENGTH)
    throw new Error(`${dir} is too long for a node's folder: at most ${DIR_LENGTH} characters`);
  const hidden = ["/run/", "/var/run/", "/var/log/", "/var/lib/", "/proc/", "/sys/", "/dev/"].find((under) =>
    dir.startsWith(under),
  );
  if (hidden) throw new Error(`${dir} cannot be a node's folder: the node has a ${hidden} of its own`);
  return dir;
}
