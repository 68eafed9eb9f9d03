import { done, type Outcome, stop } from "../../base/outcome.ts";
import { verify } from "./keys.ts";

/** Why a chain of successors does not lead to the key that greets. */
export const SUCCESSION = {
  many: "SuccessorsTooMany",
  shape: "SuccessorMalformed",
  broken: "SuccessorLinkBroken",
  loop: "SuccessorLoop",
  signature: "SuccessorNotSigned",
} as const;

// The service sends at most this many; each costs one signature to check.
export const MAX_SUCCESSORS = 100;

interface Link {
  from: string;
  to: string;
  signature: string;
}

/**
 * Whether the key that is known has named, by itself or through those it named, the key that greets. False when the known key is not
 * in the chain at all: then it is another service.
 */
export function follow(known: (key: string) => boolean, links: unknown, greeting: string): Outcome<boolean> {
  if (links === undefined) return done(false);
  if (!Array.isArray(links) || links.length > MAX_SUCCESSORS)
    return stop(SUCCESSION.many, `the service's successors are no list of at most ${MAX_SUCCESSORS}`);
  if (!links.every(isLink))
    return stop(SUCCESSION.shape, "a successor of the service's key came without its keys and signature");
  const first = links.findIndex((link) => known(link.from));
  if (first < 0) return done(false);
  let at = links[first]!.from;
  const seen = new Set([at]);
  for (const { from, to, signature } of links.slice(first) as Link[]) {
    if (from !== at) return stop(SUCCESSION.broken, "the successors of the service's key do not follow one another");
    if (seen.has(to)) return stop(SUCCESSION.loop, "the successors of the service's key lead back to an earlier one");
    if (!verify(from, `outpost/successor/v1\n${to}`, signature))
      return stop(SUCCESSION.signature, "a successor of the service's key is not signed by the key before it");
    seen.add(to);
    at = to;
  }
  return at === greeting
    ? done(true)
    : stop(SUCCESSION.broken, "the successors of the service's key do not end at the key that greets");
}

function isLink(value: unknown): value is Link {
  const { from, to, signature } = (value ?? {}) as Record<string, unknown>;
  return [from, to, signature].every((part) => typeof part === "string" && part.length <= 512);
}
