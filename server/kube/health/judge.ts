import { LUA, Lua } from "../lua/lua.ts";
import type { KubeObject } from "../object.ts";
import { type Customizations, customOf, noCustomizations } from "./custom.ts";
import { builtIn, type Health, leaving } from "./health.ts";
import { HEALTH_ORDER, type HealthStatus, health } from "./types.ts";

/** More of a message would not be read, and might not fit. */
const MAX_MESSAGE = 4_096;
const NOT_YET = health("Progressing", "the health script has not answered yet");

/** A script that failed may do better when the machine is less busy; as long as one that is slow is not tried again. */
const RETRY_MS = 60_000;

interface Verdict {
  health: Health | undefined;
  /** Not believed after this time. */
  until: number;
}

/**
 * Health as the users of a cluster define it: an object that is being deleted is Progressing; then a script of theirs, then our own rule for the kind.
 * A verdict holds for an object as it is: a changed one is another object.
 */
export class Judge {
  readonly #lua: Lua;
  #custom: Customizations = noCustomizations();
  #verdicts = new WeakMap<KubeObject, Verdict>();
  #pending = new WeakMap<KubeObject, Promise<Verdict>>();

  constructor(lua = new Lua()) {
    this.#lua = lua;
  }

  /** Takes new scripts; every verdict of the old ones is forgotten. */
  replace(custom: Customizations): void {
    this.#custom = custom;
    this.#verdicts = new WeakMap();
    this.#pending = new WeakMap();
  }

  /** Lets the scripts judge these, so that `of` knows them. Costs nothing where no script applies. */
  async prepare(groups: readonly Iterable<KubeObject | undefined>[]): Promise<void> {
    if (this.#custom.health.size === 0) return;
    const objects = groups.flatMap((group) => [...group]);
    await Promise.all(objects.map((object) => object && this.#judge(object)));
  }

  /** The health of an object that was prepared; of another, when a script has to be asked, that it is being found out. */
  of(object: KubeObject): Health | undefined {
    if (leaving(object) || customOf(this.#custom.health, object) === undefined)
      return leaving(object) ?? builtIn(object);
    const known = this.#verdicts.get(object);
    // One that is too old is better than none, until there is a new one.
    if (known) return known.health;
    void this.#judge(object);
    return NOT_YET;
  }

  /** Prepares and tells. */
  async judge(object: KubeObject): Promise<Health | undefined> {
    await this.prepare([[object]]);
    return this.of(object);
  }

  close(): Promise<void> {
    return this.#lua.close();
  }

  async #judge(object: KubeObject): Promise<Verdict | undefined> {
    const script = leaving(object) ? undefined : customOf(this.#custom.health, object);
    if (script === undefined) return undefined;
    const known = this.#verdicts.get(object);
    if (known && known.until > Date.now()) return known;
    const asking = this.#pending.get(object);
    if (asking) return asking;
    // What a script said that is not in force any more is not remembered.
    const [verdicts, pending] = [this.#verdicts, this.#pending];
    const asked = this.#ask(script, object).then((verdict) => {
      verdicts.set(object, verdict);
      pending.delete(object);
      return verdict;
    });
    pending.set(object, asked);
    return asked;
  }

  async #ask(script: string, object: KubeObject): Promise<Verdict> {
    const ran = await this.#lua.run(script, { obj: object });
    if (ran.kind === "done") return { health: this.#read(ran.value), until: Number.POSITIVE_INFINITY };
    // The program ends; objects that were not checked do not count as bad.
    if (ran.reason === LUA.closed) return { health: NOT_YET, until: 0 };
    return { health: health("Unknown", `the health script failed: ${ran.message}`), until: Date.now() + RETRY_MS };
  }

  #read(value: unknown): Health | undefined {
    if (value === undefined || value === null) return undefined;
    if (typeof value !== "object") return health("Unknown", `the health script returned no table but ${typeof value}`);
    const { status, message } = value as { status?: unknown; message?: unknown };
    const known = HEALTH_ORDER.find((one) => one === status) as HealthStatus | undefined;
    if (!known) return health("Unknown", "Lua returned an invalid health status");
    return health(known, message === undefined ? undefined : String(message).slice(0, MAX_MESSAGE));
  }
}
