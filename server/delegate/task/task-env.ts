import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import type { WorkerTask } from "../../link/exchange.ts";
import type { Workspace } from "../workspace.ts";

/**
 * All that tasks get of the delegate's own environment. The chart's `permissions` decide about credentials in the cluster; the service's
 * token and everything else that says who the delegate is stay out.
 */
const PASSED = [
  "PATH",
  "TOOLS",
  "LANG",
  "LC_ALL",
  "TZ",
  "KUBERNETES_SERVICE_HOST",
  "KUBERNETES_SERVICE_PORT",
  "KUBERNETES_SERVICE_PORT_HTTPS",
  ...["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"].flatMap((name) => [name, name.toLowerCase()]),
];

export interface TaskEnvOptions {
  env: NodeJS.ProcessEnv;
  /** More names, from OUTPOST_TASK_ENV. */
  more: readonly string[];
  task: Pick<WorkerTask, "task" | "fence" | "attempt">;
  workspace: Workspace;
  /** Certificates for everything that the task runs. */
  caBundle?: string | undefined;
}

/** The base environment of every process that the delegate starts for others. */
export function baseEnv({
  env,
  more,
  caBundle,
}: Pick<TaskEnvOptions, "env" | "more" | "caBundle">): Record<string, string> {
  const passed = [...PASSED, ...more].flatMap((name) => (env[name] ? [[name, env[name]] as const] : []));
  const ca = caBundle
    ? ["SSL_CERT_FILE", "GIT_SSL_CAINFO", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"]
    : [];
  return {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    ...Object.fromEntries(passed),
    ...Object.fromEntries(ca.map((name) => [name, caBundle!])),
  };
}

/** The environment of a task's processes. */
export function taskEnv({ task, workspace, ...rest }: TaskEnvOptions): Record<string, string> {
  return { ...baseEnv(rest), HOME: workspace.home, TMPDIR: workspace.tmp, ...ownEnv(task, workspace) };
}

/** Variables that a task cannot override. A system that it changes can use the fence to refuse a late attempt. */
export function ownEnv(task: TaskEnvOptions["task"], workspace: Workspace): Record<string, string> {
  const at = workspace.mark.indexOf("=");
  return {
    OUTPOST_TASK: task.task,
    OUTPOST_ATTEMPT: String(task.attempt),
    OUTPOST_FENCE: String(task.fence),
    [workspace.mark.slice(0, at)]: workspace.mark.slice(at + 1),
  };
}

const SYSTEM_ROOTS = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/**
 * One file with the usual roots and those of OUTPOST_CA_FILE, for git, curl and the rest: most of their settings replace the usual roots
 * instead of adding to them. Written again when the file has changed.
 */
export class CaBundle {
  readonly #file: string | undefined;
  readonly #path: string;
  #made = -1;

  constructor(file: string | undefined, workDir: string) {
    this.#file = file;
    this.#path = join(workDir, "ca-bundle.crt");
  }

  path(): string | undefined {
    if (!this.#file) return undefined;
    const { mtimeMs } = statSync(this.#file);
    if (mtimeMs === this.#made) return this.#path;
    const system = SYSTEM_ROOTS.find((path) => existsSync(path));
    const roots = system ? readFileSync(system, "utf8") : rootCertificates.join("\n");
    writeFileSync(`${this.#path}.new`, `${roots.trimEnd()}\n${readFileSync(this.#file, "utf8").trimEnd()}\n`);
    renameSync(`${this.#path}.new`, this.#path);
    this.#made = mtimeMs;
    return this.#path;
  }
}
