import { done, stop } from "../../../base/outcome.ts";
import type { LinkRead } from "../queries/task.ts";
import { leaveHints } from "../reports/hints.ts";

// The service names one repository in its spellings; more addresses than that are refused.
const MOST = 32;
const TEXT = 2_048;

/** The service was told that repositories have changed: the controller gets a hint, and looks for itself. */
export const repositoryChanged: LinkRead = async ({ ctx }, task) => {
  const { urls, revision, refs } = task.params as Record<string, unknown>;
  const texts = (value: unknown) =>
    Array.isArray(value)
      ? value.filter((one): one is string => typeof one === "string" && one.length <= TEXT).slice(0, MOST)
      : [];
  const named = texts(urls);
  if (named.length === 0)
    return stop("ParamsInvalid", "the task names no repository; this agent may be older than the service");
  const more = { refs: texts(refs), ...(typeof revision === "string" && revision.length <= 64 ? { revision } : {}) };
  const left = await leaveHints(
    ctx,
    named.map((url) => ({ url, ...more })),
  );
  return left.kind === "done" ? done({}) : left;
};
