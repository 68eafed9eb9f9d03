import type { Schemas } from "../../../../openapi/client.ts";
import { beginning } from "../../../base/lang/beginning.ts";
import { defined } from "../deliveries/spec.ts";

type Result = Schemas["OperationResult"];
// biome-ignore lint/suspicious/noExplicitAny: written by a controller that need not be ours; each field is looked at before it is used.
type Loose = any;

/** A person reads a table of so many rows, and a status has room for it. */
const MOST_TRIED = 500;
/** Those that failed say enough; the others are in the list of resources. */
const MOST_FAILED = 20;
const LONGEST_MESSAGE = 1_000;

/** What an operation did, or would do as a dry run, with each object. Our controller and Argo CD say it in words. */
export function toResults(state: Loose): { dryRun?: true; results?: Result[] } {
  const dryRun = state?.operation?.sync?.dryRun === true;
  const told: Loose[] = Array.isArray(state?.syncResult?.resources) ? state.syncResult.resources : [];
  const all = told.filter((one) => typeof one?.kind === "string" && typeof one?.name === "string").map(toResult);
  const failed = all.filter(({ outcome }) => outcome === "Failed");
  const results = dryRun
    ? [...failed, ...all.filter(({ outcome }) => outcome !== "Failed")].slice(0, MOST_TRIED)
    : failed.slice(0, MOST_FAILED);
  return { ...(dryRun ? { dryRun } : {}), ...(results.length ? { results } : {}) };
}

const WORDS: readonly (readonly [RegExp, NonNullable<Result["outcome"]>])[] = [
  [/\bunchanged\b/, "Unchanged"],
  [/\bcreated\b/, "Created"],
  [/\b(configured|replaced|serverside-applied)\b/, "Configured"],
];

function outcomeOf({ status, hookPhase, message }: Loose): Result["outcome"] {
  if (status === "SyncFailed" || hookPhase === "Failed" || hookPhase === "Error") return "Failed";
  if (status === "Pruned" || status === "PruneSkipped") return status;
  return WORDS.find(([word]) => word.test(String(message ?? "")))?.[1];
}

function toResult(one: Loose): Result {
  const message = typeof one.message === "string" ? beginning(one.message, LONGEST_MESSAGE) : "";
  return defined({
    group: one.group ? String(one.group) : undefined,
    kind: one.kind,
    namespace: one.namespace ? String(one.namespace) : undefined,
    name: one.name,
    outcome: outcomeOf(one),
    message: message || undefined,
    hook: one.hookType ? true : undefined,
  }) as Result;
}
