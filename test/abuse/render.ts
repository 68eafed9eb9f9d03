import { readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { RepoService } from "../../server/agent/repo/service.ts";
import type { RenderRequest } from "../../server/agent/repo/types.ts";

/** What no rendering may show, wherever a hostile source looks for it. */
export const CANARY = "canary-5e1f0c9a";
const MAX_MS = 30_000;
const MAX_CHILD_MIB = 256;
const MAX_GROWTH_MIB = 256;

export interface Probe {
  /** A port of this machine that must not be asked. */
  url: string;
  /** What came of a rendering, after the bounds that hold for each: `Reason: message`, or the names of the objects. */
  outcome(request: RenderRequest): Promise<string>;
  /** Largest child, in MiB, and the longest rendering. */
  worst(): { childMiB: number; ms: number };
  stop(): Promise<void>;
}

/** Watches a repo server: time, memory of its processes, connections to where none may go, and secrets in answers. */
export async function startProbe(service: RepoService): Promise<Probe> {
  let visits: string[] = [];
  const server: Server = createServer((asked, answer) => {
    visits.push(`${asked.method} ${asked.url}`);
    answer.end(CANARY);
  });
  server.on("connection", () => visits.push("connection"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  process.env.OUTPOST_CANARY = CANARY;
  const worst = { childMiB: 0, ms: 0 };
  const watch = setInterval(() => {
    worst.childMiB = Math.max(worst.childMiB, largestChild());
  }, 10);
  watch.unref();
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    outcome: async (request) => {
      visits = [];
      const [before, started] = [process.memoryUsage.rss(), Date.now()];
      const got = await service.render(request);
      const ms = Date.now() - started;
      worst.ms = Math.max(worst.ms, ms);
      const growth = (process.memoryUsage.rss() - before) / 2 ** 20;
      const shown =
        got.kind === "done"
          ? got.value.objects!.map((o) => o.metadata.name).join(",")
          : `${got.reason}: ${got.message}`;
      const faults = [
        ms > MAX_MS && `took ${ms} ms`,
        growth > MAX_GROWTH_MIB && `grew by ${growth} MiB`,
        visits.length > 0 && `asked ${visits.join()}`,
        JSON.stringify(got).includes(CANARY) && "shows a secret",
        JSON.stringify(got).includes("root:x:0") && "shows a file of this machine",
        got.kind === "again" && `is not final: ${shown}`,
      ].filter(Boolean);
      return faults.length ? `FAULT: ${faults.join("; ")}` : shown;
    },
    worst: () => worst,
    stop: async () => {
      clearInterval(watch);
      delete process.env.OUTPOST_CANARY;
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export const withinMemory = ({ childMiB }: { childMiB: number }): boolean => childMiB <= MAX_CHILD_MIB;

/** The most memory that any renderer among our children has had at once. */
function largestChild(): number {
  let largest = 0;
  try {
    for (const thread of readdirSync("/proc/self/task")) {
      for (const pid of readFileSync(`/proc/self/task/${thread}/children`, "utf8").split(" ").filter(Boolean)) {
        const status = readFileSync(`/proc/${pid}/status`, "utf8");
        // Git's index of a pack and our own servers are no renderers.
        if (!/^Name:\s+(helm|kustomize|jsonnet|v5)/m.test(status)) continue;
        largest = Math.max(largest, Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024);
      }
    }
  } catch {
    // It ended meanwhile.
  }
  return largest;
}
