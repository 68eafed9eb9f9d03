import { createHash } from "node:crypto";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ok, type Service, startService } from "../faults/link-world.ts";
import { run, until } from "../servers/run.ts";

const root = new URL("../..", import.meta.url).pathname;
type Format = "kubernetes" | "helm-values" | "docker" | "ecs" | "shell" | "powershell";

/** A real service that hands out installations, and the program as an archive. */
export interface InstallWorld {
  service: Service;
  /** A folder that everybody may read. */
  dir: string;
  archive: string;
  sha256: string;
  /** Makes the delegate if need be, and gives its installation as a file. */
  installer(id: string, format: Format, body?: object): Promise<string>;
  connected(id: string): Promise<boolean>;
  /** Runs a script on this delegate and gives its output. */
  shell(id: string, script: string, env?: Record<string, string>): Promise<string>;
  stop(): Promise<void>;
}

export async function installWorld(): Promise<InstallWorld> {
  const dir = mkdtempSync(join(tmpdir(), "outpost-install-"));
  chmodSync(dir, 0o755);
  const archive = join(dir, "outpost.tar.gz");
  await run("tar", ["-czf", archive, "-C", join(root, "dist"), "outpost.mjs", "chunks"]);
  const service = await startService();
  let count = 0;
  return {
    service,
    dir,
    archive,
    sha256: createHash("sha256").update(readFileSync(archive)).digest("hex"),
    installer: async (id, format, body = {}) => {
      const params = { path: { id } };
      ok(await service.api.PUT("/v1/delegates/{id}", { params, body: { spec: { tags: [id] } } }));
      const asked = await service.api.POST("/v1/delegates/{id}/manifest", {
        params: { ...params, query: { format } },
        body: { endpoint: service.url, ...body },
        parseAs: "text",
      });
      if (asked.data === undefined) throw new Error(JSON.stringify(asked.error));
      const file = join(dir, `${id}-${format}-${count++}`);
      writeFileSync(file, asked.data as string, { mode: 0o644 });
      return file;
    },
    connected: async (id) =>
      ok(await service.api.GET("/v1/delegates/{id}", { params: { path: { id } } })).status.connected === true,
    shell: async (id, script, env) => {
      const body = {
        kind: "shell.run" as const,
        selectors: [id],
        timeoutSeconds: 60,
        params: { script, ...(env ? { env } : {}) },
      };
      const { id: task } = ok(await service.api.POST("/v1/tasks", { params: {}, body }));
      const path = { task };
      const ended = await until(
        `the end of ${script} on ${id}`,
        async () => {
          const now = ok(await service.api.GET("/v1/tasks/{task}", { params: { path } }));
          return !["Queued", "Running"].includes(now.state) && now;
        },
        30_000,
      );
      const { items } = ok(await service.api.GET("/v1/tasks/{task}/logs", { params: { path } }));
      const said = items.map(({ stream, text }) => (stream === "system" ? "" : `${text}\n`)).join("");
      if (ended.state !== "Succeeded") throw new Error(`${ended.state}: ${ended.message}\n${said}`);
      return said;
    },
    stop: async () => {
      await service.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
