import { watch } from "node:fs/promises";
import { join } from "node:path";
import { palette } from "../progress.mjs";
import { type Options, up } from "./up.ts";

/** What ends up in the programs, the provider, the charts or the stack. */
const FOLDERS = ["server", "openapi", "provider", "modules", "examples/01-quickstart"];
/** Tests change no program, and generated files follow their sources. */
const IGNORED = /\.(test\.ts|md|log|new)$|(^|\/)(contract|generated|bindings|hcl|testing|\.terraform)(\/|$)|~$/;
/** An editor writes several files at once, some of them twice. */
const QUIET_MS = 300;

/**
 * `npm run dev`: the quickstart, and again after each change of the code: the service is started again and the agent's Pods get the new image.
 * What did not change is reused. Ends at Ctrl-C; cluster and service stay, for `npm run quickstart -- --down`.
 */
export async function dev(o: Options): Promise<number> {
  const c = palette();
  const changes = new Changes(o.root, o.signal);
  let next: string | undefined = "";
  while (next !== undefined) {
    const began = performance.now();
    try {
      await up(o);
      console.log(
        c.dim(
          `${((performance.now() - began) / 1_000).toFixed(0)} s. Waiting for a change; Ctrl-C ends, and what runs stays.`,
        ),
      );
    } catch (error) {
      // A change that does not build is followed by one that does.
      console.error(`\n${c.red("error:")} ${(error as Error).message}\n`);
    }
    next = await changes.next();
    if (next !== undefined) console.log(`\n${c.bold(next)} has changed.`);
  }
  return 0;
}

/** Files that change, one signal for those that change together. */
class Changes {
  #changed: string | undefined;
  #wake: () => void = () => undefined;
  readonly #signal: AbortSignal;

  constructor(root: string, signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#wake(), { once: true });
    for (const folder of FOLDERS) void this.#follow(root, folder);
  }

  /** The file that changed first since the last call; undefined when it is over. */
  async next(): Promise<string | undefined> {
    while (!this.#changed && !this.#signal.aborted)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    if (this.#signal.aborted) return undefined;
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
    const changed = this.#changed;
    this.#changed = undefined;
    return changed;
  }

  async #follow(root: string, folder: string): Promise<void> {
    try {
      for await (const { filename } of watch(join(root, folder), { recursive: true, signal: this.#signal })) {
        if (!filename || IGNORED.test(filename)) continue;
        this.#changed ??= join(folder, filename);
        this.#wake();
      }
    } catch (error) {
      if (!this.#signal.aborted) throw error;
    }
  }
}
