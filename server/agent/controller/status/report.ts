import { same } from "../../../base/json/same.ts";
import { done, type Outcome } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import {
  type Application,
  type ApplicationCondition,
  type ApplicationStatus,
  META,
  type Operation,
  type OperationState,
} from "../application.ts";
import type { Deps } from "../deps.ts";
import { truncateStatus } from "./truncate-status.ts";

// A step that ends sooner is not written, because the next write follows at once. When many applications are created, each takes a second or two.
const ANNOUNCE_AFTER_MS = 3_000;
// While hundreds of applications are looked at at once, as at a take-over, each look takes that long: all announcements together would be as many
// writes as the results. So many a second are enough to see what happens.
const ANNOUNCED_EACH_MS = 500;

/** When a step was announced last, of all applications of a store. */
const announcedAt = new WeakMap<Deps["store"], number>();

/**
 * What one reconciliation tells about itself. Steps are announced before they begin; an announcement is written when the step takes long
 * enough to be watched, and the result is one patch with only what changed.
 */
export class Report {
  readonly #deps: Deps;
  readonly #name: string;
  /** Another application may take the name meanwhile: what was seen of this one is not said of that one. */
  readonly #uid: string | undefined;
  /** The requests at the start of the look. Later ones are not answered by it. */
  readonly #refresh: string | undefined;
  #conditions: ApplicationCondition[] = [];
  #next: ApplicationStatus = {};
  #announced: ApplicationCondition | undefined;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<unknown> = Promise.resolve();
  #closed = false;
  /** The requested operation that begins in this look. The first write removes the request, so that the same one may be asked for again. */
  #begun: Operation | undefined;

  constructor(deps: Deps, name: string) {
    this.#deps = deps;
    this.#name = name;
    const app = deps.store.get(name);
    this.#uid = app?.metadata.uid;
    this.#refresh = app?.metadata.annotations?.[META.refresh];
  }

  /** Announces the next step; `reason` is a constant. */
  begin(reason: string, message: string): void {
    this.#announced = { type: "Reconciling", reason, message };
    this.#timer ??= setTimeout(() => this.#announce(), ANNOUNCE_AFTER_MS);
  }

  condition(type: string, reason: string, message: string): void {
    // A message of a megabyte would not be read, and might not fit.
    const text = message.length > 4_000 ? `${message.slice(0, 4_000)}…` : message;
    if (!this.#conditions.some((c) => c.type === type && c.reason === reason && c.message === text))
      this.#conditions.push({ type, reason, message: text });
  }

  get conditions(): readonly ApplicationCondition[] {
    return this.#conditions;
  }

  set(part: ApplicationStatus): void {
    Object.assign(this.#next, part);
  }

  /** Records that a requested operation begins. */
  take(operation: Operation): void {
    this.#begun = operation;
  }

  /** The status so far, as the next step may need it. */
  get status(): ApplicationStatus {
    return { ...this.#deps.store.get(this.#name)?.status, ...this.#next };
  }

  /** Writes what is set so far, before a step that must not run twice. */
  async save(): Promise<Outcome<unknown>> {
    await this.#writing;
    return this.#write((app) => this.#difference(app, this.#next), {});
  }

  /** Writes the result; fields that were not set stay as they are. */
  async end({ refreshed: looked = false } = {}): Promise<Outcome<unknown>> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#writing;
    const result = (app: Application) =>
      this.#difference(app, { ...this.#next, conditions: this.#timed(app, this.#conditions) });
    return this.#write(result, { looked });
  }

  /** One write, whole where no other client wrote in between. Only the request that was carried out goes: one that came meanwhile stays for the next look. */
  async #write(
    statusOf: (app: Application) => Record<string, unknown> | undefined,
    { looked }: { looked?: boolean },
  ): Promise<Outcome<unknown>> {
    let app = this.#deps.store.get(this.#name);
    for (let tries = 0; ; tries++) {
      if (!app || app.metadata.uid !== this.#uid) return done(undefined);
      const { metadata, operation } = app;
      const taken = this.#begun !== undefined && operation !== undefined && same(operation, this.#begun);
      const refresh = metadata.annotations?.[META.refresh];
      const refreshed = looked === true && refresh !== undefined && refresh === this.#refresh;
      const status = statusOf(app);
      const own = taken || refreshed;
      if (!own && !status) return done(undefined);
      const annotations = refreshed ? { annotations: { [META.refresh]: null } } : {};
      // The time of the last look is written along with something else: by itself it is not worth a write.
      // Argo CD's readers wait for a look that is not older than the end of the sync; the one that ended it has seen what it left.
      const isEnd = (status?.operationState as Partial<OperationState> | undefined)?.finishedAt !== undefined;
      const reconciledAt =
        looked || isEnd ? { reconciledAt: new Date(this.#deps.now()).toISOString().replace(/\.\d+/, "") } : {};
      const patch = {
        ...(own ? { metadata: { resourceVersion: metadata.resourceVersion, ...annotations } } : {}),
        ...(taken ? { operation: null } : {}),
        ...(status || looked ? { status: { ...status, ...reconciledAt } } : {}),
      };
      const written = await (tries === 0
        ? this.#deps.store.replace(app, patch)
        : this.#deps.store.patch(this.#name, { ...patch, metadata: { uid: metadata.uid, ...patch.metadata } }, own));
      if (written.kind === "done") this.#begun = undefined;
      if (written.kind === "done" || written.reason !== KUBE.conflict || tries === 3) return written;
      app = await this.#deps.store.reread(this.#name);
    }
  }

  /** Drops an announced step: the reconciliation ends without a result. */
  async drop(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#writing;
  }

  #announce(): void {
    this.#timer = undefined;
    const app = this.#deps.store.get(this.#name);
    if (this.#closed || !app || !this.#announced) return;
    const at = performance.now();
    if (at - (announcedAt.get(this.#deps.store) ?? Number.NEGATIVE_INFINITY) < ANNOUNCED_EACH_MS) {
      this.#timer = setTimeout(() => this.#announce(), ANNOUNCE_AFTER_MS);
      return;
    }
    announcedAt.set(this.#deps.store, at);
    const announced = this.#announced;
    const status = (known: Application) => {
      const conditions = [...(known.status?.conditions ?? []).filter((c) => c.type !== "Reconciling"), announced];
      return this.#difference(known, { ...this.#next, conditions: this.#timed(known, conditions) });
    };
    this.#writing = this.#writing.then(() => this.#write(status, {}));
  }

  /** A condition keeps its time while it says the same. */
  #timed(app: Application, conditions: readonly ApplicationCondition[]): ApplicationCondition[] {
    const now = new Date(this.#deps.now()).toISOString().replace(/\.\d+/, "");
    return conditions.map((c) => {
      const old = app.status?.conditions?.find((o) => o.type === c.type && o.message === c.message);
      return { ...c, lastTransitionTime: old?.lastTransitionTime ?? now };
    });
  }

  #difference(app: Application, wanted: ApplicationStatus): Record<string, unknown> | undefined {
    const { status: next, condition } = truncateStatus(app, wanted);
    if (condition && next.conditions)
      next.conditions = [
        ...next.conditions.filter(({ type }) => type !== condition.type),
        ...this.#timed(app, [condition]),
      ];
    const patch: Record<string, unknown> = {};
    const old = (app.status ?? {}) as Record<string, unknown>;
    const { operationState: ends } = app.status ?? {};
    const state = next.operationState;
    // Another client has ended it meanwhile: to go on would undo that.
    const ended = ends?.phase === "Terminating" && state?.phase === "Running" && ends.startedAt === state.startedAt;
    for (const [field, value] of Object.entries(
      ended ? { ...next, operationState: { ...state, phase: ends.phase } } : next,
    )) {
      const empty = value === undefined || (Array.isArray(value) && value.length === 0);
      if (empty) {
        if (old[field] !== undefined) patch[field] = null;
      } else if (!same(value, old[field])) {
        patch[field] = replaceable(value, old[field]);
      }
    }
    return Object.keys(patch).length ? patch : undefined;
  }
}

/** A merge patch keeps what it does not name: removed fields must be set to null. */
function replaceable(value: unknown, old: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  if (typeof old !== "object" || old === null || Array.isArray(old)) return value;
  const result: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value))
    if (inner !== undefined) result[key] = replaceable(inner, (old as Record<string, unknown>)[key]);
  for (const key of Object.keys(old)) if ((value as Record<string, unknown>)[key] === undefined) result[key] = null;
  return result;
}
