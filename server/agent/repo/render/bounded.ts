import { again, type Failure, type Outcome, stop } from "../../../base/outcome.ts";
import { RUN_REASONS, type RunResult, run } from "../../../base/process/run.ts";
import { toolEnv } from "../files/extract.ts";
import { findTool } from "../files/tool.ts";
import { REPO } from "../types.ts";

const DEADLINE_MS = 20_000;
const MAX_OUTPUT = 50_000_000;
// A chart of a hundred objects takes 60 MB of helm. With the program itself a child stays below 256 MB.
const MEMORY_MIB = 200;

export interface ToolRun {
  tool: "helm" | "kustomize" | "jsonnet";
  args: string[];
  cwd: string;
  /** The private folder of this rendering. */
  folder: string;
  /** The reason of a failure that is the input's own. */
  reason: string;
  what: string;
  memoryMiB?: number;
  maxBytes?: number;
  /** The one cluster that the tool may ask; none without it. */
  kubeconfig?: string | undefined;
}

/*
 * The bound is on resident memory, which a thread of ours watches. The kernel's limit on data is a second fence for the moments between two
 * looks. It is wider, because Go maps memory in pieces of 64 MiB long before it uses them. Address space is not limited: Go reserves more
 * than a gigabyte of it and never touches most.
 */
const UNTOUCHED_MIB = 256;
// The words are arguments of their own: nothing of a repository is read as a command.
const LIMITED = 'ulimit -d "$0" 2>/dev/null; exec "$@"';

/** Runs a renderer without network, credentials or other programs, bounded in time, output and memory. */
export async function runTool(ask: ToolRun): Promise<Outcome<RunResult>> {
  const {
    tool,
    args,
    cwd,
    folder,
    reason,
    what,
    memoryMiB = Number(process.env.OUTPOST_RENDER_MEMORY_MIB) || MEMORY_MIB,
    maxBytes = MAX_OUTPUT,
  } = ask;
  const file = findTool(tool);
  if (!file.startsWith("/")) return stop(REPO.tool, `${tool} is not installed`);
  const ran = await run("/bin/sh", {
    args: ["-c", LIMITED, String((UNTOUCHED_MIB + memoryMiB) * 1024), file, ...args],
    cwd,
    env: { ...toolEnv(folder, Math.floor(memoryMiB * 0.7)), ...(ask.kubeconfig ? { KUBECONFIG: ask.kubeconfig } : {}) },
    deadlineMs: DEADLINE_MS,
    maxBytes,
    maxResidentBytes: memoryMiB * 2 ** 20,
  });
  const tooMuch = () =>
    stop(
      REPO.tooLarge,
      `${what} needs more than ${memoryMiB} MiB of memory; OUTPOST_RENDER_MEMORY_MIB of the repo server allows more`,
    );
  if (ran.kind !== "done") return ran.reason === RUN_REASONS.memory ? tooMuch() : explain(ran, ask);
  if (ran.value.code === 127) return stop(REPO.tool, `${tool} is not installed`);
  if (ran.value.code === 0) return ran;
  const { stderr } = ran.value;
  if (
    /^(fatal error: (runtime: )?(out of memory|cannot allocate memory|failed to reserve)|runtime: (out of memory|cannot allocate memory))/m.test(
      stderr,
    )
  )
    return tooMuch();
  if (/^(runtime: goroutine stack exceeds|fatal error: stack overflow)/m.test(stderr))
    return stop(REPO.tooLarge, `${what} is nested too deeply`);
  return stop(reason, `${what} does not render: ${said(stderr, folder)}`);
}

function explain(failure: Failure, { reason, what }: ToolRun): Failure {
  if (failure.reason === RUN_REASONS.deadline)
    return stop(REPO.tooLarge, `${what} did not render within ${DEADLINE_MS / 1_000} seconds`);
  if (failure.reason === RUN_REASONS.output) return stop(REPO.tooLarge, `${what} renders to more than is accepted`);
  return failure.kind === "again" ? again(reason, failure.message) : stop(reason, failure.message);
}

/** What a tool says, without the paths of our private folder. */
const said = (stderr: string, folder: string): string =>
  stderr
    .replaceAll(`${folder}/source/`, "")
    .replaceAll(`${folder}/`, "")
    .replaceAll(folder, "")
    .replace(/\n?Use --debug flag.*/s, "")
    .trim()
    .slice(0, 2_000);
