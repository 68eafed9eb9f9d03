import type { Schemas } from "../../../../openapi/client.ts";
import type { Discovered } from "./report.ts";

type Listed = Schemas["DiscoveredListed"];
/** Where a kind is looked for in all namespaces that fit a pattern; no namespace has this name. */
export const EVERYWHERE = "*";

interface Round {
  number: number;
  open: boolean;
  places: Map<string, "waiting" | "listed" | "failed">;
}

/** The collections that are being reported in full, and their complete lists. */
export class Rounds {
  readonly #rounds = new Map<Discovered, Round>();

  #of(collection: Discovered): Round {
    let round = this.#rounds.get(collection);
    if (!round) {
      round = { number: 0, open: false, places: new Map() };
      this.#rounds.set(collection, round);
    }
    return round;
  }

  /** Each session starts its numbers at one. */
  reset(): void {
    for (const round of this.#rounds.values()) Object.assign(round, { number: 0, open: false });
  }

  begin(collection: Discovered): void {
    const round = this.#of(collection);
    round.number++;
    round.open = true;
  }

  isOpen(collection: Discovered): boolean {
    return this.#of(collection).open;
  }

  number(collection: Discovered): number {
    return this.#of(collection).number;
  }

  expect(collection: Discovered, place: string): void {
    const { places } = this.#of(collection);
    if (!places.has(place)) places.set(place, "waiting");
  }

  /** True if the collection must be reported in full once more, because this namespace was not part of the last round. */
  listed(collection: Discovered, place: string): boolean {
    const { open, number, places } = this.#of(collection);
    const before = places.get(place);
    places.set(place, "listed");
    return before !== "listed" && !open && number > 0;
  }

  /** A list that was complete once is kept true by its watch, which tries again by itself. */
  failed(collection: Discovered, place: string): void {
    const { places } = this.#of(collection);
    if (places.get(place) !== "listed") places.set(place, "failed");
  }

  leave(collection: Discovered, place: string): void {
    this.#of(collection).places.delete(place);
  }

  hasDue(): boolean {
    return [...this.#rounds.values()].some(isDue);
  }

  /** The ends of the rounds that are complete; a place that could not be listed leaves only the others complete. */
  due(count: (collection: Discovered, namespace: string | undefined) => number): Listed[] {
    const ends: Listed[] = [];
    for (const [collection, round] of this.#rounds) {
      if (!isDue(round)) continue;
      const places = [...round.places];
      const whole = places.every(([, state]) => state === "listed");
      const namespaces = whole
        ? [undefined]
        : places.flatMap(([place, state]) => (state === "listed" && place !== EVERYWHERE ? place : []));
      if (namespaces.length === 0) round.open = false;
      for (const namespace of namespaces)
        ends.push({
          collection,
          round: round.number,
          count: count(collection, namespace),
          ...(namespace ? { namespace } : {}),
        });
    }
    return ends;
  }

  closed(ends: readonly Listed[]): void {
    for (const { collection, round } of ends) {
      const known = this.#of(collection);
      if (known.number === round) known.open = false;
    }
  }
}

const isDue = ({ open, places }: Round): boolean =>
  open && places.size > 0 && [...places.values()].every((state) => state !== "waiting");
