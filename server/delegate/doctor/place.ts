import { existsSync, mkdtempSync, rmdirSync, rmSync, statSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { FileIdentity } from "../../link/identity/identity-file.ts";
import { SILENT } from "../../link/log.ts";
import { isLocked } from "../config/lock.ts";
import type { Settings } from "../config/settings.ts";
import { capabilities } from "../kinds/table.ts";
import { supervised } from "../process/bounded.ts";
import { MIN_FREE_MIB } from "../process/headroom.ts";
import { openSandbox } from "../sandbox/sandbox.ts";
import type { Sources } from "../secrets/config.ts";
import { type Check, fail, ok, warn } from "./check.ts";

const MIB = 1024 * 1024;

/** The work folder: made or makeable, its owner's alone, with room. */
export async function checkWorkDir({ workDir }: Settings): Promise<Check> {
  const there = existsSync(workDir);
  let at = workDir;
  while (!existsSync(at)) at = dirname(at);
  try {
    // Tried, not asked: a disk may be read-only, and root may do everything but that.
    rmdirSync(mkdtempSync(join(at, "doctor-")));
  } catch {
    return fail(
      "workdir",
      `${at} cannot be written to by this user (uid ${process.getuid?.()}): change its owner, or set OUTPOST_WORK_DIR`,
    );
  }
  const { bavail, bsize, files, ffree } = await statfs(at);
  const free = Math.floor((bavail * bsize) / MIB);
  if (free < MIN_FREE_MIB)
    return fail(
      "workdir",
      `${workDir} has ${free} MiB left on its disk; with less than ${MIN_FREE_MIB} no tasks are taken`,
    );
  if (files > 0 && ffree < 1_000) return fail("workdir", `the disk of ${workDir} has ${ffree} inodes left`);
  const state = there ? `${(await isLocked(workDir)) ? "a" : "no"} delegate works in it now` : "it will be made";
  const open = there && (statSync(workDir).mode & 0o044) !== 0;
  const text = `${workDir}: ${free} MiB left, ${state}`;
  return open ? warn("workdir", `${text}; other users can list it: chmod 711`) : ok("workdir", text);
}

/** One line for each kind that this machine cannot run, one for those it can. */
export async function checkCapabilities(env: NodeJS.ProcessEnv, sandbox: SandboxChecks): Promise<Check[]> {
  const { able, lacking } = await capabilities(env, sandbox);
  const can = able.length ? ok("capabilities", able.join(", ")) : fail("capabilities", "it can run no kind of task");
  return [can, ...lacking.map(({ kind, why }) => warn("capabilities", `${kind}: ${why}`))];
}

export interface SecretsOptions {
  settings: Settings;
  env: NodeJS.ProcessEnv;
  scopes: Sources["scopes"];
}

/** Which sources of secrets are open to tasks of scopes below the delegate's own. */
export async function checkSecrets({ settings, env, scopes }: SecretsOptions): Promise<Check> {
  const loaded = await new FileIdentity(join(settings.workDir, "identity.json")).load();
  const enrolment = loaded.kind === "done" ? loaded.value?.enrolment : undefined;
  if (enrolment?.project)
    return ok("secrets", "only tasks of its own project run here, and they may have every secret");
  const where = enrolment
    ? `the ${enrolment.org ? "organization" : "account"} that the delegate belongs to`
    : "the delegate's own scope";
  const closed = ["env", "file", "kubernetes"].filter((name) => !scopes.has(name));
  const folder = env.OUTPOST_SECRETS_DIR || "/etc/outpost/secrets";
  const listed = [...scopes.keys()].join(", ");
  const text = listed ? `scopes are given for ${listed}` : "no source has scopes";
  const rest = `${closed.length ? `${closed.join(", ")} and every other source` : "every other source"} serve only tasks of ${where}`;
  return closed.includes("file") && existsSync(folder) && enrolment
    ? warn("secrets", `${text}; ${rest}: give \`scopes\` in the configuration file if tasks of scopes below need them`)
    : ok("secrets", `${text}; ${rest}`);
}

export interface SandboxChecks {
  checks: Check[];
  cannotBuild?: string | undefined;
}

/** The sandbox in a folder of its own: one that runs is not touched. */
export async function checkSandbox(settings: Settings, env: NodeJS.ProcessEnv): Promise<SandboxChecks> {
  let dir: string;
  try {
    dir = mkdtempSync(join(existsSync(settings.workDir) ? settings.workDir : dirname(settings.workDir), "doctor-"));
  } catch (error) {
    return { checks: [warn("sandbox", `it cannot be tried: ${(error as Error).message}`)] };
  }
  try {
    const { sandbox: mode, bounds } = settings;
    const { level, findings, cannotBuild } = await openSandbox({
      mode,
      env,
      workDir: dir,
      processes: bounds.processes,
      caBundle: () => undefined,
      log: SILENT,
      look: true,
    });
    if (level === "none") {
      const text = `none: tasks can read what the delegate can, its identity too (${findings[0]?.why})`;
      return { checks: [mode === "required" ? fail("sandbox", text) : warn("sandbox", text)] };
    }
    const open = findings.filter(({ on }) => !on);
    const perl = supervised
      ? []
      : [warn("sandbox", "there is no Perl here, so a task may leave a process behind that hides: install perl")];
    const checks = [ok("sandbox", level), ...perl, ...open.map(({ name, why }) => warn("sandbox", `${name}: ${why}`))];
    return { checks, cannotBuild };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
