import { parentKey, repositoryKey } from "../../../base/repository-key.ts";
import { type Application, sourcesOf } from "../application.ts";

/** A hint about a repository from outside. It may be wrong, so none of it is trusted. */
export interface RepositoryHint {
  at?: string;
  revision?: string;
  refs?: string[];
}

const GATHER_MS = 5;
// The longest delay of a timer is 24 days.
const MAX_TIMER_MS = 2_000_000_000;

interface Polled {
  url: string;
  apps: Set<string>;
  timer?: NodeJS.Timeout;
  /** The applications of the next look: those named, or all. */
  wanted: Set<string> | "all";
  /** The running poll, and one requested since it began: one more poll serves all later requests. */
  running?: Promise<void>;
  next?: Promise<void>;
}

/** Which applications read which repository, and when each repository is looked at: once for all of them. */
export class Polls {
  readonly #repositories = new Map<string, Polled>();
  readonly #urls = new Map<string, string[]>();
  readonly #look: (url: string, apps: ReadonlySet<string>) => Promise<void>;
  readonly #intervalMs: (id: string) => number | undefined;
  #stopped = false;

  constructor(
    look: (url: string, apps: ReadonlySet<string>) => Promise<void>,
    intervalMs: (id: string) => number | undefined,
  ) {
    this.#look = look;
    this.#intervalMs = intervalMs;
  }

  seen(name: string, app: Application): void {
    const urls = [...new Set(sourcesOf(app).map(({ repoURL }) => repoURL))].filter((url) => typeof url === "string");
    const before = this.#urls.get(name) ?? [];
    if (before.length === urls.length && before.every((url, i) => url === urls[i])) return;
    this.gone(name);
    this.#urls.set(name, urls);
    for (const url of urls) {
      let polled = this.#repositories.get(url);
      if (!polled) {
        polled = { url, apps: new Set(), wanted: new Set() };
        this.#repositories.set(url, polled);
        this.#arm(polled);
      }
      polled.apps.add(name);
    }
  }

  gone(name: string): void {
    for (const url of this.#urls.get(name) ?? []) {
      const polled = this.#repositories.get(url);
      polled?.apps.delete(name);
      if (polled?.apps.size !== 0) continue;
      clearTimeout(polled.timer);
      this.#repositories.delete(url);
    }
    this.#urls.delete(name);
  }

  /** Looks at a repository now, under each spelling that applications have for it. */
  async changed(url: string): Promise<void> {
    const key = repositoryKey(url) ?? url;
    // A chart is asked for by the registry's folder that it is in.
    const wanted = [key, parentKey(key)];
    const meant = [...this.#repositories.values()].filter((polled) =>
      wanted.includes(repositoryKey(polled.url) ?? polled.url),
    );
    await Promise.all(meant.map((polled) => this.#ask(polled)));
  }

  /** Looks at one application's repository, together with others that read the same; false when it reads more than one repository. */
  async refresh(name: string): Promise<boolean> {
    const [url, ...more] = this.#urls.get(name) ?? [];
    const polled = url !== undefined && more.length === 0 ? this.#repositories.get(url) : undefined;
    if (!polled) return false;
    await this.#ask(polled, name);
    return true;
  }

  /** The time between two looks is another one from now on. */
  rearm(): void {
    for (const polled of this.#repositories.values()) this.#arm(polled);
  }

  /** How many applications read a repository. */
  get repositories(): number {
    return this.#repositories.size;
  }

  stop(): void {
    this.#stopped = true;
    for (const { timer } of this.#repositories.values()) clearTimeout(timer);
  }

  #arm(polled: Polled): void {
    clearTimeout(polled.timer);
    const ms = this.#intervalMs(polled.url);
    if (this.#stopped || ms === undefined) return;
    polled.timer = setTimeout(() => void this.#ask(polled), Math.min(ms, MAX_TIMER_MS));
    polled.timer.unref();
  }

  #ask(polled: Polled, name?: string): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    if (name === undefined) polled.wanted = "all";
    else if (polled.wanted !== "all") polled.wanted.add(name);
    polled.next ??= (async () => {
      await polled.running;
      // Requests that arrive at the same moment share one poll.
      await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
      polled.next = undefined;
      const { wanted } = polled;
      polled.wanted = new Set();
      polled.running = this.#look(polled.url, wanted === "all" ? polled.apps : wanted);
      try {
        await polled.running;
      } finally {
        polled.running = undefined;
        if (wanted === "all" && this.#repositories.get(polled.url) === polled) this.#arm(polled);
      }
    })();
    return polled.next;
  }
}
