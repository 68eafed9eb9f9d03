import { createContext, Script } from "node:vm";

// A regular expression of a user may need exponential time; V8 lets a running match be ended from outside only through a context.
const LIMIT_MS = 50;
// V8's limit is one of the clock. A match that had the processor for less than half of it, on a busy machine, is tried again, so often.
const TRIES = 4;
// For all of one request together: nothing else is served meanwhile.
const BUDGET_MS = 200;
// V8 ends the whole process over an expression of a megabyte, whatever the time.
const MAX_PATTERN = 10_000;
const test = new Script("new RegExp('^(?:' + pattern + ')$', 'u').test(text)");

export type Fits = (pattern: string, text: string) => boolean | "slow" | "invalid";

/** Milliseconds of the processor that this process took. */
const taken = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};

/**
 * Whether whole texts fit a user's regular expressions: `slow` when that was not known within 50 ms, or 200 ms for all that one matcher was
 * asked; `invalid` when it is none, or longer than anybody writes. Only the two texts go into the context; the code that runs there is ours.
 */
export function patternMatcher(): Fits {
  let left = BUDGET_MS;
  return (pattern, text) => {
    if (pattern.length > MAX_PATTERN) return "invalid";
    const timeout = Math.floor(Math.min(left, LIMIT_MS));
    if (timeout < 1) return "slow";
    const context = createContext({ pattern, text });
    for (let tries = 1; ; tries++) {
      const before = taken();
      try {
        return test.runInContext(context, { timeout }) === true;
      } catch (error) {
        if ((error as { code?: string }).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") return "invalid";
        if (tries === TRIES || taken() - before >= timeout / 2) return "slow";
      } finally {
        // What a match of any kind costs besides is not its fault.
        left -= Math.max(0, taken() - before - 2);
      }
    }
  };
}
