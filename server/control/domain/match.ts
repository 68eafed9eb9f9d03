import { type ApprovalGiven, type ApprovalWanted, isApproved } from "./approval.ts";
import { missingTags } from "./explain.ts";
import { contains, type Scope } from "./scope.ts";

/** Tasks of one scope, kind and list of selectors: who can take one of them can take each. */
export interface Shape extends Scope {
  shape: string;
  kind: string;
  selectors: readonly string[];
  /** Who has approved the runs of these tasks. */
  approval?: ApprovalGiven | undefined;
}

/** A worker that asks for tasks. */
export interface Taker extends Scope {
  id: string;
  tags: readonly string[];
  capabilities: readonly string[];
  /** Kinds that its delegate may run; none means all it can. */
  kinds: readonly string[];
  /** The approval that its delegate asks for. */
  requiresApproval?: ApprovalWanted | undefined;
  /** How many more it takes. */
  room: number;
  /** How busy it is, to be compared: running tasks by capacity. */
  load: number;
}

/** A worker takes tasks of its own scope and of those below, whose selectors are all among its tags, and whose kind it can and may run, and that were approved as its delegate asks. */
export function couldTake(taker: Taker, shape: Shape): boolean {
  return (
    contains(taker, shape) &&
    taker.capabilities.includes(shape.kind) &&
    (taker.kinds.length === 0 || taker.kinds.includes(shape.kind)) &&
    missingTags(taker, shape.selectors).length === 0 &&
    isApproved(taker.requiresApproval, shape.approval)
  );
}

/** Tasks that probably wait in a shape; too high a guess costs a longer statement, too low a second one. */
export interface Waiting {
  shape: Shape;
  guess: number;
}

export interface Slot<T> {
  shape: Shape;
  taker: T;
}

export interface Fairness {
  /** Running tasks by scope, `org/project`. */
  running(scope: string): number;
  /** Whether the worker has lately failed tasks of the kind: it is asked last. */
  failed(taker: Taker, kind: string): boolean;
}

export const scopeName = (s: Pick<Scope, "org" | "project">): string => `${s.org}/${s.project}`;

/**
 * Shares the room of those who ask among what waits: each time the scope with the fewest running tasks is served, and of the workers
 * that can take its task the one with the smallest load that has not failed such tasks lately. So a scope with ten thousand tasks
 * gets no more than its share as long as another waits, and all of it when none does.
 */
export function share<T extends Taker>(
  waiting: readonly Waiting[],
  takers: readonly T[],
  fair: Fairness,
  most: number,
): Slot<T>[] {
  const slots: Slot<T>[] = [];
  const left = new Map(takers.map((t) => [t, t.room]));
  const given = new Map<T, number>();
  const scopes = new Map<string, { running: number; shapes: { of: Waiting; able: T[]; left: number }[] }>();
  for (const of of waiting) {
    const able = takers.filter((t) => t.room > 0 && couldTake(t, of.shape));
    if (able.length === 0 || of.guess <= 0) continue;
    const name = scopeName(of.shape);
    const scope = scopes.get(name) ?? { running: fair.running(name), shapes: [] };
    scope.shapes.push({ of, able, left: of.guess });
    scopes.set(name, scope);
  }
  while (slots.length < most && scopes.size > 0) {
    const [name, scope] = leastOf([...scopes], ([, s]) => s.running);
    const next = scope.shapes.shift()!;
    const { shape } = next.of;
    const free = next.able.filter((t) => left.get(t)! > 0);
    if (free.length > 0) {
      const taker = leastOf(free, (t) => t.load + (given.get(t) ?? 0) / 10 + (fair.failed(t, shape.kind) ? 1_000 : 0));
      slots.push({ shape, taker });
      left.set(taker, left.get(taker)! - 1);
      given.set(taker, (given.get(taker) ?? 0) + 1);
      scope.running++;
      next.left--;
      // To the end: the shapes of a scope take turns.
      if (next.left > 0) scope.shapes.push(next);
    }
    if (scope.shapes.length === 0) scopes.delete(name);
  }
  return slots;
}

function leastOf<T>(of: readonly T[], measure: (one: T) => number): T {
  let best = of[0] as T;
  let least = Number.POSITIVE_INFINITY;
  for (const one of of) {
    const measured = measure(one);
    if (measured < least) [best, least] = [one, measured];
  }
  return best;
}
