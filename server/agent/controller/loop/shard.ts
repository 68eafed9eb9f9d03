import { digest } from "../../../base/json/canonical.ts";
import type { Application } from "../application.ts";

const MAX_SHARDS = 1_000;

/** One of several controllers that share the applications: each application is exactly one's, whichever of them is asked. */
export class Shard {
  readonly index: number;
  readonly count: number;
  readonly #by: "application" | "cluster";
  /** The shard that the Secret of an application's cluster names; it counts where clusters are shared out, and such a shard is there. */
  pinned: (app: Pick<Application, "metadata" | "spec">) => number | undefined = () => undefined;

  constructor(index = 0, count = 1, by: "application" | "cluster" = "application") {
    if (!Number.isInteger(count) || count < 1 || count > MAX_SHARDS)
      throw new Error(`OUTPOST_SHARDS must be from 1 to ${MAX_SHARDS}`);
    if (!Number.isInteger(index) || index < 0 || index >= count)
      throw new Error(`OUTPOST_SHARD must be from 0 to ${count - 1}`);
    this.index = index;
    this.count = count;
    this.#by = by;
  }

  /** From the environment; in a StatefulSet the number is the Pod's own, at the end of its name. */
  static of(env: NodeJS.ProcessEnv): Shard {
    const count = Number(env.OUTPOST_SHARDS || 1);
    const own = env.OUTPOST_SHARD || (count > 1 ? /-(\d+)$/.exec(env.POD_NAME ?? "")?.[1] : "0");
    const by = env.OUTPOST_SHARD_BY || "application";
    if (by !== "application" && by !== "cluster") throw new Error("OUTPOST_SHARD_BY must be application or cluster");
    return new Shard(Number(own ?? Number.NaN), count, by);
  }

  owns(app: Pick<Application, "metadata" | "spec">): boolean {
    if (this.count === 1) return true;
    const { metadata, spec } = app;
    const pinned = this.#by === "cluster" ? this.pinned(app) : undefined;
    if (pinned !== undefined && pinned < this.count) return pinned === this.index;
    const { server, name } = spec.destination ?? {};
    const key = this.#by === "cluster" ? `${name ?? ""} ${server ?? ""}` : metadata.name;
    return Number.parseInt(digest(key).slice(0, 8), 16) % this.count === this.index;
  }
}
