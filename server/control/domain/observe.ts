import { canonical } from "../../base/json/canonical.ts";
import { MOVED, movedIn } from "./moved.ts";
import type { Noun, Schemas } from "./nouns.ts";

export type Report = Schemas["ObjectReport"];
export type Status = Record<string, any>;

/** Where an object stands on its way to its agent. */
export interface Standing {
  op: "put" | "delete";
  /** Newest revision, the one that brought the newest spec, and the newest one the agent has acknowledged. */
  revision: number;
  specRevision: number;
  ackedRevision: number;
}

export interface Observed {
  status: Status;
  ackedRevision: number;
  /** The agent has removed it: the row and its delivery go. */
  gone: boolean;
  /** The agent has the newest credentials: the service drops its sealed copy. */
  credentialsArrived: boolean;
  /** Fields of the reported status that did not fit the contract and were left out. */
  ignored: string[];
}

/** Their controller tells which generation it speaks of; of the others nothing but their delivery is to be known. */
const CONTROLLED: readonly string[] = ["applications", "applicationsets"];

/** Fields of status that only the service writes; a worker's word on them is passed over. */
const OWN = ["delivery", "credentials", "reportedAt"] as const;

/**
 * What a worker's report makes of an object: the acknowledgement moves the delivery on, the status replaces what the worker
 * said before. A report never makes an object go unless its deletion was asked for.
 */
export function observe(
  noun: Noun,
  generation: number,
  before: Status,
  standing: Standing,
  report: Report,
  now: Date,
): Observed {
  const { revision, op } = standing;
  const reported = Math.min(report.generation ?? 0, revision);
  const result: Observed = {
    status: { ...before },
    ackedRevision: standing.ackedRevision,
    gone: false,
    credentialsArrived: false,
    ignored: [],
  };
  const upToDate = reported === revision;
  if (report.outcome === "deleted") {
    result.gone = op === "delete" && upToDate;
    // Removed by hand while it should be there: nothing is held any more, so it is sent again.
    const acked = upToDate ? revision : standing.ackedRevision;
    result.ackedRevision = op === "delete" ? acked : 0;
    if (op === "put")
      result.status.delivery = {
        state: "Pending",
        reason: "RemovedByHand",
        message: "The object was removed in the agent's namespace; it is sent again.",
      };
    return result;
  }
  if (report.outcome) result.ackedRevision = Math.max(standing.ackedRevision, reported);
  if (report.outcome === "applied" && upToDate && op === "put") {
    result.status.delivery = { state: "Delivered" };
    result.credentialsArrived = true;
    if (before.credentials === "Pending") result.status.credentials = "Delivered";
    if (!CONTROLLED.includes(noun.collection)) result.status.observedGeneration = generation;
  }
  if (report.outcome === "refused" && upToDate) {
    const state = op === "delete" ? "Deleting" : "Refused";
    result.status.delivery = {
      state,
      ...(report.reason ? { reason: report.reason } : {}),
      ...(report.message ? { message: report.message } : {}),
    };
  }
  if (report.status) takeStatus(noun, generation, standing, report, result, now);
  return result;
}

function takeStatus(
  noun: Noun,
  generation: number,
  standing: Standing,
  report: Report,
  result: Observed,
  now: Date,
): void {
  const { clean, ignored } = fitting(noun, report.status ?? {});
  result.ignored = ignored;
  for (const field of OWN) delete clean[field];
  // The worker counts in delivery revisions; the object's generation stands still when only an action or an address was sent.
  const seen = clean.observedGeneration as number | undefined;
  const observed = seen !== undefined && seen >= standing.specRevision ? generation : result.status.observedGeneration;
  const told = ((clean.conditions as Status[] | undefined) ?? []).filter(({ type }) => type !== MOVED);
  const moved = movedIn(result.status);
  if (clean.conditions || moved.length > 0) clean.conditions = [...told, ...moved];
  const own = Object.fromEntries([...OWN].map((field) => [field, result.status[field]]));
  result.status = definedOnly({
    ...clean,
    ...own,
    observedGeneration: observed,
    ...(CONTROLLED.includes(noun.collection) ? { reportedAt: now.toISOString() } : {}),
  });
}

/** The part of a reported status that fits the contract: a faulty field is left out, the others count. */
export function fitting(noun: Noun, reported: Status): { clean: Status; ignored: string[] } {
  const clean = { ...reported };
  const ignored: string[] = [];
  // Each round removes at least one field, so there are at most as many rounds as fields.
  while (!noun.validateStatus(clean)) {
    const faults = noun.validateStatus.errors ?? [];
    const fields = new Set(
      faults.map((f) => f.instancePath.split("/")[1] || String(f.params.additionalProperty ?? "")),
    );
    const present = [...fields].filter((f) => f in clean);
    if (present.length === 0) return { clean: {}, ignored: Object.keys(reported) };
    for (const field of present) {
      delete clean[field];
      ignored.push(field);
    }
  }
  // Formats are not the validator's, and clients read a time as one.
  for (const field of Object.keys(clean).filter((one) => mistimed(one, clean[one]))) {
    delete clean[field];
    ignored.push(field);
  }
  return { clean, ignored };
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

/** Whether a member that the contract has as a time, by its name, is or holds a text that is none. */
function mistimed(name: string, value: unknown): boolean {
  if (typeof value === "string")
    return /(At|Time)$/.test(name) && !(TIME.test(value) && Number.isFinite(Date.parse(value)));
  if (Array.isArray(value)) return value.some((one) => mistimed(name, one));
  return typeof value === "object" && value !== null && Object.entries(value).some(([key, one]) => mistimed(key, one));
}

/** Whether two statuses differ in more than the time of the report. */
export function differs(a: Status, b: Status): boolean {
  return canonical({ ...a, reportedAt: undefined }) !== canonical({ ...b, reportedAt: undefined });
}

function definedOnly(status: Status): Status {
  return Object.fromEntries(Object.entries(status).filter(([, value]) => value !== undefined));
}
