import { type Shape, scopeName, share, type Taker } from "../../domain/match.ts";
import type { Row, Sql } from "../../store/database/sql.ts";
import {
  instanceOf,
  type Lessee,
  leaseAvoided,
  leasePlaces,
  type Places,
  toWorkerTask,
  type WorkerTask,
} from "./lease.ts";
import { queuedShapes, runningByScope } from "./queue.ts";

/** Tasks leased in one statement: enough to use a round trip well, few enough that a pass takes some milliseconds. */
const MOST = 200;
/** After a look that found a shape without telling how many wait in it. */
const FIRST_GUESS = 16;
/** A worker that failed a kind of task comes last for such tasks for this long. */
const FAILED_MS = 60_000;

export interface Offer extends Lessee, Taker {}

export interface Leased {
  offer: Offer;
  task: WorkerTask;
}

interface Known {
  shape: Shape;
  /** Tasks that probably wait; 0 when none was left at the last look. */
  guess: number;
  /** A worker lost or failed some of them lately. */
  avoided: boolean;
}

/**
 * What one replica knows of one account's queue: which shapes have waiting tasks, how much runs in each scope, who has failed what
 * lately. All of it is a guess that saves statements; the store alone decides on leases.
 */
export class Queue {
  readonly #account: string;
  readonly #known = new Map<string, Known>();
  #running = new Map<string, number>();
  readonly #failed = new Map<string, number>();
  /** Nothing is known yet, or something that is not known was queued. */
  #unsure = true;

  constructor(account: string) {
    this.#account = account;
  }

  /** A task of this shape was queued, here or on another replica. */
  queued(shape: string): void {
    const known = this.#known.get(shape);
    if (known) known.guess++;
    else this.#unsure = true;
  }

  /** The snapshot may be out of date: the next pass reads first. */
  doubt(): void {
    this.#unsure = true;
  }

  /** A worker's attempt at a kind has ended. */
  ended(worker: string, kind: string, well: boolean): void {
    const key = `${worker} ${kind}`;
    if (well) this.#failed.delete(key);
    else this.#failed.set(key, Date.now() + FAILED_MS);
  }

  /** Looks at everything again: time has passed, and a wake-up may have been lost. */
  async look(sql: Sql): Promise<void> {
    this.#unsure = false;
    const heads = await queuedShapes(sql, this.#account);
    const found = new Set(heads.map((h) => h.shape));
    for (const [shape, known] of this.#known) if (!found.has(shape)) known.guess = 0;
    for (const { due, avoided, ...shape } of heads) {
      const before = this.#known.get(shape.shape);
      this.#known.set(shape.shape, {
        shape,
        guess: due ? Math.max(before?.guess ?? 0, FIRST_GUESS) : 0,
        avoided: due && avoided,
      });
    }
    this.#forget();
    const scopes = new Set(heads.map((h) => scopeName(h)));
    // With one scope there is nothing to share.
    this.#running = new Map(
      scopes.size > 1 ? (await runningByScope(sql, this.#account)).map((r) => [scopeName(r), r.n]) : [],
    );
  }

  /**
   * One pass: leases what those who ask can take, as far as it is known to wait. `again` when more may wait for them, `wasted` when
   * something was known and nothing was got: it has gone, or those who asked have.
   */
  async pass(sql: Sql, offers: readonly Offer[]): Promise<{ leased: Leased[]; again: boolean; wasted: boolean }> {
    if (this.#unsure) await this.look(sql);
    const waiting = [...this.#known.values()].filter((k) => k.guess > 0);
    const fair = {
      running: (scope: string) => this.#running.get(scope) ?? 0,
      failed: (taker: Taker, kind: string) =>
        (this.#failed.get(`${(taker as Offer).session.worker} ${kind}`) ?? 0) > Date.now(),
    };
    const slots = share(waiting, offers, fair, MOST);
    if (slots.length === 0) return { leased: [], again: false, wasted: false };
    const to = [...new Set(slots.map((slot) => slot.taker))];
    const places = new Map<string, number[]>();
    for (const { shape, taker } of slots)
      places.set(shape.shape, [...(places.get(shape.shape) ?? []), to.indexOf(taker)]);
    const before = new Map(waiting.map((k) => [k.shape.shape, k.guess]));
    const list: Places[] = [...places].map(([shape, takers]) => ({ shape, takers }));
    const rows = await leasePlaces(sql, this.#account, to, list);
    const leased = this.#take(rows, to);
    const avoided = this.#guessAnew(list, rows, before);
    if (avoided.length > 0) leased.push(...(await this.#leaseAvoided(sql, avoided, list, to, leased)));
    return { leased, again: true, wasted: leased.length === 0 };
  }

  /** What is left after a look at some shapes; gives those in which tasks were left out that a worker lost. */
  #guessAnew(list: readonly Places[], rows: readonly Row[], before: Map<string, number>): string[] {
    const got = new Map<string, number>();
    for (const row of rows) got.set(row.shape, (got.get(row.shape) ?? 0) + 1);
    return list.flatMap(({ shape, takers }) => {
      const known = this.#known.get(shape)!;
      const n = got.get(shape) ?? 0;
      // Tasks that were queued while the statement ran still count. A shape that filled its places is looked at once more.
      const since = Math.max(known.guess - before.get(shape)!, 0);
      known.guess = since + (n === takers.length ? Math.max(before.get(shape)! - n, n) : 0);
      if (n === takers.length || !known.avoided) return [];
      known.avoided = false;
      return [shape];
    });
  }

  async #leaseAvoided(
    sql: Sql,
    shapes: readonly string[],
    list: readonly Places[],
    to: Offer[],
    leased: readonly Leased[],
  ): Promise<Leased[]> {
    const room = to.map((offer) => offer.room - leased.filter((l) => l.offer === offer).length);
    const choose = (task: { shape: string; avoid: string }) => {
      const able = list.find((p) => p.shape === task.shape)!.takers;
      const who = able.find((i) => instanceOf(to[i]!.session) !== task.avoid && room[i]! > 0);
      if (who !== undefined) room[who]!--;
      return who;
    };
    return this.#take(await leaseAvoided(sql, this.#account, to, shapes, choose), to);
  }

  #take(rows: readonly Row[], to: readonly Offer[]): Leased[] {
    return rows.map((row) => {
      const name = scopeName(row as unknown as Shape);
      this.#running.set(name, (this.#running.get(name) ?? 0) + 1);
      const offer = to[Number(row.who) - 1]!;
      return { offer, task: toWorkerTask(offer.session, row) };
    });
  }

  /** Shapes that have not had a task for a while cost nothing but memory; many of them are dropped. */
  #forget(): void {
    if (this.#known.size > 10_000)
      for (const [shape, known] of this.#known) if (known.guess === 0) this.#known.delete(shape);
    if (this.#failed.size > 10_000)
      for (const [key, until] of this.#failed) if (until < Date.now()) this.#failed.delete(key);
  }
}
