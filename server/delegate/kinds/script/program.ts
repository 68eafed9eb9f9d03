import { delimiter } from "node:path";
import { run } from "../../../base/process/run.ts";

const PATH = ["/usr/local/bin", "/usr/bin", "/bin"].join(delimiter);

/** What a kind lacks that needs a program: undefined when the program answers, else what to do. */
export async function programLacks(
  name: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  how: string,
  more: Record<string, string> = {},
): Promise<string | undefined> {
  const ran = await run(name, {
    args,
    cwd: "/",
    env: { PATH: env.PATH || PATH, HOME: "/dev/null", ...more },
    deadlineMs: 10_000,
    maxBytes: 65_536,
  });
  if (ran.kind === "done" && ran.value.code === 0) return undefined;
  if (ran.kind === "done") return `${name} is installed but does not start (exit code ${ran.value.code}): ${how}`;
  return ran.reason === "ToolMissing"
    ? `${name} is not installed: ${how}`
    : `${name} is installed but does not start (${ran.message}): ${how}`;
}
