import { digest } from "../../../base/json/canonical.ts";
import type { Application } from "../application.ts";
import { orphansOf } from "../cluster/orphans.ts";
import type { Deps } from "../deps.ts";
import type { Destination } from "../destination.ts";
import type { Memory } from "../memory.ts";
import type { Connection } from "./connection.ts";
import { channelOf, encode, encodeList, MAX_ENTRY, managedKey, storedKey, treeKey } from "./format.ts";
import { fingerprint, managedResources } from "./managed.ts";
import type { CacheAccess, CacheOptions } from "./options.ts";
import type { Entry } from "./schedule.ts";
import type { SharedLists } from "./shared-lists.ts";
import type { Hosts } from "./tree/hosts.ts";
import type { ResourceNode } from "./tree/node.ts";
import { partsOf } from "./tree/parts.ts";
import { orphanNodes, shardsOf, treeNodes } from "./tree/tree.ts";

export interface EntriesOptions {
  deps: Deps;
  options: CacheOptions;
  access: CacheAccess;
  connection: Connection;
  hosts: Hosts;
  lists: SharedLists;
}

export type Written = "written" | "unchanged" | "failed" | "too large";

/** Writes the entries of one application; an unchanged entry that still exists is only renewed. */
export class Entries {
  readonly #with: EntriesOptions;

  constructor(options: EntriesOptions) {
    this.#with = options;
  }

  /** An application that cannot be compared has nothing to show: readers then show its conditions. */
  async empty(name: string, entry: Entry): Promise<Written> {
    const { connection, options } = this.#with;
    const removed = await connection.remove([storedKey(managedKey(name), options.compression)]);
    if (!removed) return "failed";
    entry.states = undefined;
    return this.#tree(name, entry, [{}], "empty");
  }

  async write(
    name: string,
    app: Application,
    destination: Destination,
    memory: Memory,
    entry: Entry,
  ): Promise<{ result: Written; unsettled: boolean }> {
    const { options, access, hosts, lists } = this.#with;
    const parts = partsOf(app, destination, memory);
    const states = await this.#states(name, entry, app, destination, memory);
    if (states === "failed") return { result: "failed", unsettled: false };

    const look = { app, destination, customLabels: options.customLabels, share: lists.since(entry.changedAt) };
    const { nodes, pods, unsettled } = await treeNodes(look, parts);
    const orphanedNodes = await this.#orphans(look, memory, entry);
    const on = await hosts.of(destination, pods, options.nodeLabels);
    const shards = shardsOf({ nodes, orphanedNodes, hosts: on }, access.treeShardSize);
    const result = await this.#tree(name, entry, shards, digest(shards));
    const isStates = result === "unchanged" || (result === "written" && states === "too large");
    return { result: isStates ? states : result, unsettled };
  }

  async remove(name: string, shards: number): Promise<boolean> {
    const { connection, options } = this.#with;
    const keys = [managedKey(name), ...Array.from({ length: Math.max(1, shards) }, (_, i) => treeKey(name, i))];
    const removed = await connection.remove(keys.map((key) => storedKey(key, options.compression)));
    if (removed) await connection.publish(channelOf(name));
    return removed;
  }

  async #states(
    name: string,
    entry: Entry,
    app: Application,
    destination: Destination,
    memory: Memory,
  ): Promise<Written> {
    const { connection, options, access } = this.#with;
    const parts = partsOf(app, destination, memory);
    const states = fingerprint(parts, memory.ignoring, options.hiddenAnnotations);
    const key = storedKey(managedKey(name), options.compression);
    if (entry.states === states && (await connection.renew([key], access.ttlSeconds))) return "unchanged";
    const packed = await encodeList(
      managedResources(app, destination, parts, options.hiddenAnnotations),
      options.compression,
    );
    // An old entry would be believed.
    const written = packed ? await connection.set(key, packed, access.ttlSeconds) : await connection.remove([key]);
    if (!written) return "failed";
    entry.states = states;
    return packed ? "written" : "too large";
  }

  async #tree(name: string, entry: Entry, shards: readonly object[], tree: string): Promise<Written> {
    const { connection, options, access } = this.#with;
    const keys = shards.map((_, i) => storedKey(treeKey(name, i), options.compression));
    if (entry.tree === tree && (await connection.renew(keys, access.ttlSeconds))) return "unchanged";
    // The first piece says how many there are, so it goes last.
    for (const [i, shard] of [...shards.entries()].reverse()) {
      const packed = await encode(shard, options.compression);
      if (packed.length > MAX_ENTRY) return "too large";
      if (!(await connection.set(keys[i]!, packed, access.ttlSeconds))) return "failed";
    }
    Object.assign(entry, { tree, shards: shards.length });
    await connection.publish(channelOf(name));
    return "written";
  }

  /** Orphans, if the project monitors them. This lists all kinds, so only if the last reconciliation did so too. */
  async #orphans(
    look: Parameters<typeof orphanNodes>[0],
    { orphans, orphansAt }: Memory,
    entry: Entry,
  ): Promise<ResourceNode[]> {
    if (!orphans?.length) {
      entry.orphans = undefined;
      return [];
    }
    if (entry.orphans?.at === orphansAt) return entry.orphans.nodes;
    const { projects, store } = this.#with.deps;
    const project = projects.of(look.app);
    if (project.kind !== "done") return [];
    const found = await orphansOf(look.destination, project.value, look.app, (name) => store.get(name) !== undefined);
    entry.orphans = { at: orphansAt, nodes: await orphanNodes(look, found) };
    return entry.orphans.nodes;
  }
}
