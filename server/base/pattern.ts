import { createContext, Script } from "node:vm";

// A regular expression of a user may need exponential time; V8 lets a running match be ended from outside only through a context.
const LIMIT_MS = 50;
// For all of one request together: nothing else is served meanwhile.
const BUDGET_MS = 200;
const test = new Script("new RegExp('^(?:' + pattern + ')$', 'u').test(text)");

export type Fits = (pattern: string, text: string) => boolean | "slow" | "invalid";

/**
 * Whether whole texts fit a user's regular expressions: `slow` when that was not known within 50 ms, or 200 ms for all that one matcher was
 * asked; `invalid` when it is none. Only the two texts go into the context; the code that runs there is ours.
 */
export function patternMatcher(): Fits {
  let left = BUDGET_MS;
  return (pattern, text) => {
    const timeout = Math.floor(Math.min(left, LIMIT_MS));
    if (timeout < 1) return "slow";
    const began = performance.now();
    try {
      return test.runInContext(createContext({ pattern, text }), { timeout }) === true;
    } catch (error) {
      return (error as { code?: string }).code === "ERR_SCRIPT_EXECUTION_TIMEOUT" ? "slow" : "invalid";
    } finally {
      // What a match of any kind costs besides is not its fault.
      left -= Math.max(0, performance.now() - began - 2);
    }
  };
}
