import type { Schemas } from "./nouns.ts";

type Condition = Schemas["Condition"];
type Said = Schemas["WorkerCondition"];

/** Types of conditions that the service itself sets on an agent; a worker's word on them is passed over. */
const OWN: readonly string[] = ["DiscoveredLimit"];

/** The conditions with those that the agent reports now in place of those that it reported before. */
export function reportedConditions(before: readonly Condition[], said: readonly Said[], now: Date): Condition[] {
  const own = before.filter(({ type }) => OWN.includes(type));
  const theirs = said.filter(({ type }, i) => !OWN.includes(type) && said.findIndex((one) => one.type === type) === i);
  return [...own, ...theirs.map((one) => since(before, one, now))];
}

/** The conditions with one that the service sets. */
export function withCondition(before: readonly Condition[], one: Said, now: Date): Condition[] {
  return [...before.filter(({ type }) => type !== one.type), since(before, one, now)];
}

function since(before: readonly Condition[], one: Said, now: Date): Condition {
  const same = before.find(({ type, status }) => type === one.type && status === one.status);
  return { ...one, lastTransitionTime: same?.lastTransitionTime ?? now.toISOString() };
}
