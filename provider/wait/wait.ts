import type { Client, Limit, Place, Problem, Stored } from "../client/client.ts";
import { pause } from "../client/pause.ts";
import type { Log } from "../protocol/log.ts";
import { printDuration } from "../schema/duration.ts";
import type { Path } from "../value/path.ts";

/** What a judge says of an object, or of its absence. */
export type Verdict =
  | { readonly kind: "done" }
  | { readonly kind: "later"; readonly reason: string }
  /** `standsFor`: milliseconds that the failure must stand before it is believed. */
  | {
      readonly kind: "stop";
      readonly reason: string;
      readonly path?: Path;
      readonly standsFor?: number;
      /** The part of a failure that stays equal while its words change; else the reason itself. */
      readonly same?: string;
      /** Objects of it are in the cluster already, so it does not count as one that could not be created. */
      readonly deployed?: true;
    };

export type Judge = (stored: Stored | undefined) => Verdict | Promise<Verdict>;

export type Waited =
  | { readonly kind: "done"; readonly stored: Stored | undefined }
  | { readonly kind: "problem"; readonly problem: Problem; readonly stored: Stored | undefined }
  | {
      readonly kind: "failed";
      readonly reason: string;
      readonly path?: Path | undefined;
      readonly deployed: boolean;
      readonly stored: Stored | undefined;
    }
  | { readonly kind: "timeout"; readonly reason: string; readonly stored: Stored | undefined };

const shortest = 200;
const longest = 2_000;

/** Asks for the object until the judge is content, something is final, or the deadline has come. Every change of the reason is logged. */
export async function waitFor(
  client: Client,
  place: Place,
  judge: Judge,
  limit: Limit,
  log: Log,
  first?: Stored,
): Promise<Waited> {
  const started = Date.now();
  let said = "";
  let failing: { what: string; since: number } | undefined;
  let pauseFor = shortest;
  let version: string | undefined;
  let stored = first;
  let fresh = first !== undefined;
  for (;;) {
    if (!fresh) {
      const reply = await client.get(place, limit);
      if (reply.ok) stored = reply.body;
      else if (reply.status === 404) stored = undefined;
      else if (reply.status === 0 || Date.now() >= limit.deadline)
        return { kind: "timeout", reason: reply.problem.detail, stored };
      else return { kind: "problem", problem: reply.problem, stored };
    }
    fresh = false;
    const verdict = await judge(stored);
    if (verdict.kind === "done") return { kind: "done", stored };
    const { reason } = verdict;
    if (verdict.kind === "stop") {
      const what = verdict.same ?? reason;
      if (failing?.what !== what) failing = { what, since: Date.now() };
      if (Date.now() - failing.since >= (verdict.standsFor ?? 0))
        return { kind: "failed", reason, path: verdict.path, deployed: verdict.deployed === true, stored };
    } else failing = undefined;
    if (reason !== said) {
      log("info", `${place.collection} ${place.id}: ${reason} (${printDuration(Date.now() - started)})`);
      said = reason;
    }
    pauseFor = stored?.version === version ? Math.min(longest, pauseFor * 1.3) : shortest;
    version = stored?.version;
    if (Date.now() + pauseFor >= limit.deadline) return { kind: "timeout", reason, stored };
    await pause(pauseFor, limit.signal);
  }
}
