import type { Schemas } from "./nouns.ts";

type Condition = Schemas["Condition"];
type Status = Record<string, unknown>;

/** The service's own condition of an object: something that it refers to has moved to another agent without it. */
export const MOVED = "ReferenceMovedWarning";

/** Something that an object refers to, and the agents of both. */
export interface Parted {
  /** `cluster prod`. */
  what: string;
  pointer: string;
  from: string;
  to: string;
}

/** A status with the conditions for what has moved away, and without those for what came back. Agents cannot set or remove them. */
export function withMoved(status: Status, parted: readonly Parted[], now: Date): Status {
  const all = (status.conditions as Condition[] | undefined) ?? [];
  const others = all.filter(({ type }) => type !== MOVED);
  const moved = parted.map(({ what, pointer, from, to }): Condition => {
    const message = `The ${what} (\`${pointer}\`) moved to agent \`${to}\`. This object stays with agent \`${from}\`, which keeps what it had. Change \`agent\` to \`${to}\` with \`move=true\`, or refer to another ${what.split(" ")[0]}.`;
    const before = all.find((one) => one.type === MOVED && one.message === message);
    return (
      before ?? { type: MOVED, status: "True", reason: "AgentsDiffer", message, lastTransitionTime: now.toISOString() }
    );
  });
  const conditions = [...others, ...moved];
  return conditions.length > 0 || status.conditions !== undefined ? { ...status, conditions } : status;
}

/** The service's own conditions in a status, for the next one that an agent reports. */
export const movedIn = (status: Status): Condition[] =>
  ((status.conditions as Condition[] | undefined) ?? []).filter(({ type }) => type === MOVED);
