import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createOutpostClient, type OutpostClient, type Schemas } from "../openapi/client.ts";
import { type ClusterNode, findNode } from "./cluster/node.ts";
import { terraformMirror, writeTerraformConfig } from "./cluster/terraform.ts";
import { buildTools } from "./cluster/tools.ts";
import { runs, startBackground, stopBackground } from "./quickstart/background.ts";
import { adminKey, serviceCommand, serviceEnv, serviceReady } from "./quickstart/service.ts";
import { Memory } from "./quickstart/state.ts";
import { type Ran, terraform } from "./quickstart/terraform.ts";
import { BareRepository } from "./servers/git-repo.ts";
import { until } from "./servers/run.ts";

/** The whole system, up and running, as a journey sees it. */
export interface World {
  root: string;
  /** Where people, pods and Terraform reach the service. */
  address: string;
  apiKey: string;
  api: OutpostClient;
  cluster: ClusterNode;
  repository: BareRepository;
  gitPassword: string;
  /** Address of the repository as the agent's pods reach it. */
  repositoryUrl: string;
  /** The quickstart's own Terraform folder. */
  stack: string;
  cli(...args: string[]): Promise<{ exit: number; out: string; err: string }>;
  terraform(dir: string, ...args: string[]): Promise<Ran>;
  /** A fresh folder with this configuration and a provider block, beside the stack. */
  configuration(name: string, hcl: string): Promise<string>;
  killService(): Promise<void>;
  startService(): Promise<void>;
  application(id: string): Promise<Schemas["Application"]>;
  /** Waits until the application is as it should be; the error tells what it was. */
  waitApplication(
    id: string,
    what: string,
    holds: (a: Schemas["Application"]) => boolean,
    deadlineMs?: number,
  ): Promise<Schemas["Application"]>;
}

const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");

/** The world that the journeys' setup has made. */
export async function world(): Promise<World> {
  const memory = new Memory(root, 0);
  const { port, nodeDir, gitPort } = memory.state;
  const cluster = nodeDir ? findNode(nodeDir) : undefined;
  const apiKey = adminKey(memory.path("service"));
  if (!cluster || !apiKey || !gitPort) throw new Error("the world is not up: run the journeys by npm test -- journeys");
  const address = `http://outpost.localhost:${port}`;
  const api = createOutpostClient({ endpoint: `http://127.0.0.1:${port}`, apiKey });
  const mirror = await terraformMirror(
    await buildTools(() => {}, ["terraform-provider-helm", "terraform-provider-kubernetes"]),
  );
  const config = await writeTerraformConfig(memory.path("terraform.rc"), { mirror, own: join(root, "dist/mirror") });
  const env = { ...config, OUTPOST_ENDPOINT: address, OUTPOST_API_KEY: apiKey };

  const application = async (id: string) => {
    const { data, error } = await api.GET("/v1/applications/{id}", { params: { path: { id } } });
    if (!data) throw new Error(`application ${id}: ${JSON.stringify(error)}`);
    return data;
  };
  return {
    root,
    address,
    apiKey,
    api,
    cluster,
    repository: new BareRepository(memory.path("git"), "guestbook"),
    gitPassword: readFileSync(memory.path("git-password"), "utf8").trim(),
    repositoryUrl: `http://git.outpost.test:${gitPort}/guestbook.git`,
    stack: memory.path("terraform"),
    application,
    cli: (...args) =>
      new Promise((resolve) => {
        const child = execFile(
          process.execPath,
          [join(root, "dist/outpost.mjs"), ...args],
          { env: { ...process.env, ...env, NO_COLOR: "1" }, timeout: 300_000, maxBuffer: 64 << 20 },
          (error, out, err) => resolve({ exit: error ? (child.exitCode ?? 1) : 0, out, err }),
        );
      }),
    terraform: (dir, ...args) =>
      terraform(
        dir,
        [...args, ...(["init", "plan", "apply", "destroy"].includes(args[0]!) ? ["-input=false", "-no-color"] : [])],
        stackEnv(memory, dir, env),
        memory.path("logs/journeys.log"),
      ),
    configuration: async (name, hcl) => {
      const dir = memory.path(`${name}-${randomBytes(3).toString("hex")}`);
      mkdirSync(dir, { recursive: true });
      writeFileSync(
        join(dir, "main.tf"),
        `terraform {\n  required_providers {\n    outpost = { source = "outpost/outpost" }\n  }\n}\n\nprovider "outpost" {}\n\n${hcl}\n`,
      );
      const ran = await terraform(dir, ["init", "-input=false", "-no-color"], env, memory.path("logs/journeys.log"));
      if (ran.code !== 0) throw new Error(ran.output);
      return dir;
    },
    killService: async () => {
      const { service } = memory.state;
      if (!runs(service)) throw new Error("the service does not run");
      process.kill(service.process.pid, "SIGKILL");
      await until("the service's end", () => !runs(service));
    },
    startService: async () => {
      if (runs(memory.state.service)) await stopBackground(memory.state.service);
      const dir = memory.path("service");
      const started = await startBackground(
        "service",
        serviceCommand(root),
        memory.dir,
        serviceEnv({ root, dir, port, publicUrl: address }),
        () => serviceReady(port),
        memory.path("logs"),
      );
      memory.remember({ service: started });
    },
    waitApplication: async (id, what, holds, deadlineMs = 180_000) => {
      let last: Schemas["Application"] | undefined;
      return until(
        what,
        async () => {
          last = await application(id);
          return holds(last) && last;
        },
        deadlineMs,
      ).catch((error: Error) => {
        throw new Error(`${error.message}; ${id} was ${JSON.stringify(last?.status, null, 1)}`);
      });
    },
  };
}

/** Synced, Healthy and about the newest generation. */
export const settled = (a: Schemas["Application"]): boolean =>
  a.status.sync?.status === "Synced" &&
  a.status.health?.status === "Healthy" &&
  (a.status.observedGeneration ?? 0) >= a.generation;

/** The variables that the quickstart gave its stack; other configurations have none. */
function stackEnv(memory: Memory, dir: string, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const file = memory.path("variables.json");
  return dir === memory.path("terraform") && existsSync(file)
    ? { ...env, ...JSON.parse(readFileSync(file, "utf8")) }
    : env;
}

export function removeFolder(dir: string): void {
  rmSync(dir, { recursive: true, force: true });
}
