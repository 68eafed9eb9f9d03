import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** How the service is started, here and in the journeys: one bundle, configured by environment variables. */
export interface ServiceOptions {
  root: string;
  dir: string;
  port: number;
  /** Address to listen on; loopback unless a cluster of the user's own must reach it. */
  host?: string;
  /** Address for workers and people. */
  publicUrl: string;
  more?: Record<string, string>;
}

export const serviceCommand = (root: string): string[] => [process.execPath, join(root, "dist/outpost.mjs"), "server"];

export function serviceEnv({ dir, port, host = "127.0.0.1", publicUrl, more }: ServiceOptions): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, LANG } = process.env;
  const env: NodeJS.ProcessEnv = {
    PATH,
    HOME,
    TMPDIR,
    LANG,
    OUTPOST_LISTEN: `${host}:${port}`,
    OUTPOST_DATA: dir,
    OUTPOST_PUBLIC_URL: publicUrl,
    ...more,
  };
  return env;
}

/** The admin's key, which the first start writes for its owner alone. */
export const adminKeyFile = (dir: string): string => join(dir, "admin-key");
export const adminKey = (dir: string): string | undefined =>
  existsSync(adminKeyFile(dir)) ? readFileSync(adminKeyFile(dir), "utf8").trim() : undefined;

/** Whether the store answers. */
export async function serviceReady(port: number, host = "127.0.0.1"): Promise<boolean> {
  try {
    const answer = await fetch(`http://${host}:${port}/readyz`, { signal: AbortSignal.timeout(2_000) });
    return answer.ok;
  } catch {
    return false;
  }
}
