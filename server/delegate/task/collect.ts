import { done, type Outcome, stop } from "../../base/outcome.ts";
import type { WriteLine } from "../process/bounded.ts";

const MAX_CHARS = 64 * 1024;

/** Runs a command and returns its standard output instead of logging it; any exit code but 0 is a failure. */
export async function collect(
  run: (write: WriteLine) => Promise<Outcome<number>>,
  write: WriteLine,
): Promise<Outcome<string>> {
  let text = "";
  const ran = await run((stream, line) => {
    if (stream !== "stdout") return write(stream, line);
    if (text.length < MAX_CHARS) text += `${line}\n`;
    return undefined;
  });
  if (ran.kind !== "done") return ran;
  return ran.value === 0 ? done(text) : stop("Failed", `it exited with ${ran.value}`);
}
