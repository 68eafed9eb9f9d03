import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { join, posix } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { readJson } from "../../base/json/nesting.ts";
import { matchGlob } from "../../base/lang/glob.ts";
import { done, type Failure, type Outcome, stop } from "../../base/outcome.ts";
import { RUN_REASONS, run } from "../../base/process/run.ts";
import { untar } from "../repo/files/untar.ts";
import { BOUNDS } from "../repo/git/tree.ts";
import { type Announcement, readAnnouncements } from "../repo/plugin/announcement.ts";
import type { Variable } from "../repo/plugin/wire.ts";
import { borrow, withoutAskPass } from "./borrow.ts";
import type { Command, PluginConfig } from "./config.ts";

export const WORK = {
  failed: "PluginFailed",
  tooLarge: "OutputTooLarge",
  deadline: "DeadlineExceeded",
  refused: "SourceRefused",
} as const;

const unzip = promisify(gunzip);
// Headers and padding of each file, beside what they hold.
const MAX_UNPACKED = BOUNDS.totalBytes + BOUNDS.files * 2_048;
// A folder of an application; a plugin that looks for a needle runs a command.
const MAX_LISTED = 100_000;

export interface Job {
  archive: Buffer;
  /** The application's folder in it. */
  path: string;
  env: readonly Variable[];
  signal: AbortSignal;
}

export interface Limits {
  /** Where the folders of jobs are; each is gone when its job is. */
  folder: string;
  deadlineMs: number;
  maxBytes: number;
}

/** The objects that the plugin's commands print for a folder. */
export function generate(config: PluginConfig, job: Job, limits: Limits): Promise<Outcome<string>> {
  return inFolder(config, job, limits, async (folder, deadline) => {
    const lent = await borrow(config, job, limits);
    if (lent.kind !== "done") return lent;
    try {
      const mine = { ...job, env: lent.value.env };
      if (config.init) {
        const began = await execute(config.init, folder, mine, limits, deadline);
        if (began.kind !== "done") return began;
      }
      return await execute(config.generate, folder, mine, limits, deadline);
    } finally {
      await lent.value.end();
    }
  });
}

/** The announced parameters: those the command finds for a folder, then those of the file, which win as they come later. */
export function announce(config: PluginConfig, job: Job, limits: Limits): Promise<Outcome<Announcement[]>> {
  const { dynamic, static: fixed } = config.parameters;
  if (!dynamic) return Promise.resolve(done(fixed));
  return inFolder(config, job, limits, async (folder, deadline) => {
    const printed = await execute(dynamic, folder, { ...job, env: withoutAskPass(job.env) }, limits, deadline);
    if (printed.kind !== "done") return printed;
    try {
      return done([...readAnnouncements(readJson(printed.value), "spec.parameters.dynamic"), ...fixed]);
    } catch (error) {
      const why = error instanceof SyntaxError ? "spec.parameters.dynamic printed no JSON" : (error as Error).message;
      return stop(WORK.failed, why);
    }
  });
}

/** Whether the plugin takes a folder for one of its own; one that does not look takes none. */
export function matches(config: PluginConfig, job: Job, limits: Limits): Promise<Outcome<boolean>> {
  return inFolder(config, job, limits, async (folder, deadline) => {
    const { fileName, glob, command } = config.discover ?? {};
    if (fileName)
      return done(
        (await filesBelow(folder, fileName.split("/").length)).some((path) => matchGlob(fileName, path, "/")),
      );
    if (glob) return done((await filesBelow(folder, BOUNDS.depth)).some((path) => fits(glob, path)));
    if (!command) return done(false);
    const found = await execute(command, folder, { ...job, env: withoutAskPass(job.env) }, limits, deadline);
    return found.kind === "done" ? done(found.value.trim() !== "") : found;
  });
}

async function inFolder<T>(
  config: PluginConfig,
  { archive, path }: Job,
  { folder, deadlineMs }: Limits,
  work: (folder: string, deadline: number) => Promise<Outcome<T>>,
): Promise<Outcome<T>> {
  const deadline = Date.now() + deadlineMs;
  const inside = posix.normalize(path || ".");
  if (inside.startsWith("/") || inside.split("/").includes(".."))
    return stop(WORK.refused, `the application's folder ${JSON.stringify(path.slice(0, 200))} is outside of the files`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const root = await mkdtemp(join(folder, "job-"));
  try {
    const unpacked = await unzip(archive, { maxOutputLength: MAX_UNPACKED }).then(done, (error: Error) =>
      stop(WORK.refused, `the files cannot be unpacked: ${error.message}`),
    );
    if (unpacked.kind !== "done") return unpacked;
    const written = await untar(unpacked.value, root, config.preserveFileMode);
    if (written.kind !== "done") return written;
    return await work(join(root, inside), deadline);
  } finally {
    await rm(root, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** One command in the application's folder; its environment is the sidecar's own, with what the application adds. */
async function execute(
  { command, args }: Command,
  cwd: string,
  { env, signal }: Job,
  { maxBytes }: Limits,
  deadline: number,
): Promise<Outcome<string>> {
  const [program, ...words] = [...command, ...args];
  const ran = await run(program!, {
    args: words,
    cwd,
    inherit: Object.keys(process.env),
    env: Object.fromEntries(env.map(({ name, value }) => [name, value])),
    deadlineMs: Math.max(1, deadline - Date.now()),
    maxBytes,
    signal,
  });
  if (ran.kind !== "done") return explain(ran, program!);
  const { code, stdout, stderr } = ran.value;
  if (code === 0) return done(stdout.toString("utf8"));
  return stop(WORK.failed, `${program} ended with ${code}: ${stderr.trim().slice(0, 2_000)}`);
}

function explain(failure: Failure, program: string): Failure {
  if (failure.reason === RUN_REASONS.deadline) return stop(WORK.deadline, `${program} did not end in time`);
  if (failure.reason === RUN_REASONS.output) return stop(WORK.tooLarge, failure.message);
  return stop(WORK.failed, failure.message);
}

/** Two stars and a slash also match no folder. */
const fits = (glob: string, path: string): boolean =>
  matchGlob(glob, path, "/") || (glob.includes("**/") && matchGlob(glob.replaceAll("**/", ""), path, "/"));

/** Files and folders, as deep as a pattern may look. */
async function filesBelow(folder: string, depth: number, under = ""): Promise<string[]> {
  const entries = await readdir(join(folder, under), { withFileTypes: true }).catch(() => []);
  const found: string[] = [];
  for (const entry of entries) {
    const path = under ? `${under}/${entry.name}` : entry.name;
    found.push(path);
    if (entry.isDirectory() && depth > 1) found.push(...(await filesBelow(folder, depth - 1, path)));
    if (found.length > MAX_LISTED) return found;
  }
  return found;
}
