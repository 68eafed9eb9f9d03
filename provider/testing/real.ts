import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The service itself, in its own process on its embedded store, checking each of its answers against the contract. */
export interface RealService {
  readonly endpoint: string;
  readonly key: string;
  ask(method: string, path: string, body?: object): Promise<{ status: number; body: Record<string, unknown> }>;
  stop(): Promise<void>;
}

const program = fileURLToPath(new URL("../../dist/outpost.mjs", import.meta.url));
/** The embedded store takes a few seconds to start on a busy machine. */
const patience = 60_000;

export async function startRealService(): Promise<RealService> {
  if (!existsSync(program)) throw new Error("dist/outpost.mjs is missing: run `npm run build` first");
  const data = mkdtempSync(join(tmpdir(), "service-"));
  const env = {
    ...process.env,
    OUTPOST_DATA: data,
    OUTPOST_LISTEN: "127.0.0.1:0",
    OUTPOST_VALIDATE_RESPONSES: "true",
    OUTPOST_LOG_LEVEL: "info",
    OUTPOST_ADMIN_KEY: "",
    DATABASE_URL: "",
  };
  const child = spawn(process.execPath, [program, "server"], { env, stdio: ["ignore", "pipe", "pipe"] });
  const stop = async (): Promise<void> => {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    if (child.exitCode === null && child.kill("SIGTERM")) await ended;
    rmSync(data, { recursive: true, force: true });
  };
  try {
    const endpoint = await new Promise<string>((resolve, reject) => {
      let text = "";
      const timer = setTimeout(() => reject(new Error(`the service did not start:\n${text}`)), patience);
      const hear = (chunk: Buffer) => {
        text = (text + chunk).slice(-10_000);
        const url = /"url":"([^"]+)"[^\n]*"the service is ready"/.exec(text)?.[1];
        if (!url) return;
        clearTimeout(timer);
        resolve(url);
      };
      child.stdout.on("data", hear);
      child.stderr.on("data", hear);
      child.once("exit", () => reject(new Error(`the service ended:\n${text}`)));
    });
    const key = readFileSync(join(data, "admin-key"), "utf8").trim();
    const ask: RealService["ask"] = async (method, path, body) => {
      const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
      const init = {
        method,
        headers: { authorization: `Bearer ${key}`, "content-type": type },
        ...(body ? { body: JSON.stringify(body) } : {}),
      };
      const response = await fetch(`${endpoint}${path}`, init);
      const text = await response.text();
      return { status: response.status, body: text ? JSON.parse(text) : {} };
    };
    return { endpoint, key, ask, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
