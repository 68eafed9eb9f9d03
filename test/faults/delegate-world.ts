import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Schemas } from "../../openapi/client.ts";
import { type Daemon, until } from "../servers/run.ts";
import { ok, program, type Service, startService } from "./link-world.ts";

type Task = Schemas["Task"];

/** The real service and any number of delegates, each a process of its own with its own folder. */
export interface DelegateWorld {
  service: Service;
  dir: string;
  /** Makes the delegate in the service if need be, and starts a replica with a new folder. */
  start(
    id: string,
    options?: { spec?: Partial<Schemas["DelegateSpec"]>; org?: string; env?: NodeJS.ProcessEnv; url?: string },
  ): Promise<Daemon>;
  /** Queues a script. */
  shell(script: string, more?: Partial<Schemas["TaskRequest"]>): Promise<string>;
  task(id: string): Promise<Task>;
  /** Waits until all have ended. */
  ended(ids: readonly string[], ms: number): Promise<Task[]>;
  /** A file to which tasks add lines, and its lines. */
  ledger(): { path: string; lines(): string[] };
  stop(): Promise<void>;
}

const RUNNING = ["Queued", "Running"];

export async function delegateWorld(): Promise<DelegateWorld> {
  const dir = mkdtempSync(join(tmpdir(), "outpost-delegates-"));
  const service = await startService();
  const daemons: Daemon[] = [];
  let count = 0;
  const w: DelegateWorld = {
    service,
    dir,
    start: async (id, { spec = {}, org, env = {}, url = service.url } = {}) => {
      const params = { path: { id }, query: org ? { org } : {} };
      ok(await service.api.PUT("/v1/delegates/{id}", { params, body: { spec: { capacity: 10, ...spec } } }));
      const { token } = ok(await service.api.POST("/v1/delegates/{id}/tokens", { params, body: {} }));
      const delegate = program(["delegate"], {
        OUTPOST_ENDPOINT: url,
        DELEGATE_TOKEN: token,
        DELEGATE_NAME: id,
        OUTPOST_WORK_DIR: join(dir, `${id}-${count++}`),
        OUTPOST_LISTEN: "127.0.0.1:0",
        // The tasks of these tests write into a ledger outside of their workspaces.
        OUTPOST_SANDBOX: "off",
        ...env,
      });
      daemons.push(delegate);
      await until(`delegate ${id}`, () => delegate.ended() || delegate.said().includes("connected to"), 30_000);
      if (delegate.ended()) throw new Error(`delegate ${id} ${delegate.ended()}: ${delegate.said()}`);
      return delegate;
    },
    shell: async (script, more = {}) => {
      const body = {
        kind: "shell.run" as const,
        timeoutSeconds: 120,
        maxAttempts: 3,
        idempotent: false,
        ...more,
        params: { script },
      };
      return ok(await service.api.POST("/v1/tasks", { params: {}, body })).id;
    },
    task: async (id) => ok(await service.api.GET("/v1/tasks/{task}", { params: { path: { task: id } } })),
    ended: async (ids, ms) => {
      let left = [...ids];
      const found = new Map<string, Task>();
      await until(
        `the end of ${ids.length} tasks`,
        async () => {
          for (const id of left) found.set(id, await w.task(id));
          left = left.filter((id) => RUNNING.includes(found.get(id)!.state));
          return left.length === 0;
        },
        ms,
      ).catch((error: Error) => {
        throw new Error(`${error.message}; left: ${JSON.stringify(left.map((id) => found.get(id)))}`);
      });
      return ids.map((id) => found.get(id)!);
    },
    ledger: () => {
      const path = join(dir, `ledger-${count++}`);
      writeFileSync(path, "");
      return { path, lines: () => readFileSync(path, "utf8").split("\n").filter(Boolean) };
    },
    stop: async () => {
      await Promise.all(daemons.map((delegate) => delegate.stop("SIGKILL")));
      await service.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
  return w;
}

/** Pseudo-random numbers from a seed, so that a run can be repeated. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface Wire {
  url: string;
  lost: number;
  twice: number;
  stop(): Promise<void>;
}

/** A wire that is not reliable: it loses answers after the service has acted, and delivers requests twice. */
export async function badWire(
  port: number,
  chance: { lose: number; twice: number },
  next: () => number,
): Promise<Wire> {
  const forward = (incoming: { method?: string; url?: string; headers: object }, body: Buffer) =>
    new Promise<{ status: number; headers: object; body: Buffer }>((resolve, reject) => {
      const { method, url, headers } = incoming;
      const out = request(
        { host: "127.0.0.1", port, method, path: url, headers: { ...headers }, agent: false },
        (answer) => {
          const parts: Buffer[] = [];
          answer.on("data", (part) => parts.push(part));
          answer.on("end", () =>
            resolve({ status: answer.statusCode!, headers: answer.headers, body: Buffer.concat(parts) }),
          );
          answer.on("error", reject);
        },
      );
      out.on("error", reject);
      out.end(body);
    });
  const server = createServer((incoming, outgoing) => {
    const parts: Buffer[] = [];
    incoming.on("data", (part) => parts.push(part));
    incoming.on("end", async () => {
      const body = Buffer.concat(parts);
      try {
        // A poll is not repeated at once by any network, and two would end each other's wait.
        const twice = incoming.url !== "/v1/worker/exchange" && next() < chance.twice;
        if (twice) {
          wire.twice++;
          await forward(incoming, body);
        }
        const answer = await forward(incoming, body);
        if (next() < chance.lose) {
          wire.lost++;
          return void outgoing.socket?.destroy();
        }
        const { "transfer-encoding": _, ...headers } = answer.headers as Record<string, string>;
        outgoing.writeHead(answer.status, headers).end(answer.body);
      } catch {
        outgoing.socket?.destroy();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const wire: Wire = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lost: 0,
    twice: 0,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return wire;
}
