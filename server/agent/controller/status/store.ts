import { same } from "../../../base/json/same.ts";
import { done, type Outcome } from "../../../base/outcome.ts";
import type { KubeClient } from "../../../kube/client.ts";
import { RESOURCES } from "../../../kube/path.ts";
import { instanceOf, placeOfInstance } from "../../project/instance.ts";
import type { Application } from "../application.ts";
import { sane } from "./sanitize-status.ts";

/** The Applications, by what they are called (`instanceOf`), as last seen or written, so that this program does not react to its own writes. */
export class Store {
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #apps = new Map<string, { app: Application; inputs: unknown }>();

  constructor(client: KubeClient, namespace: string) {
    this.#client = client;
    this.#namespace = namespace;
  }

  get(name: string): Application | undefined {
    return this.#apps.get(name)?.app;
  }

  all(): Application[] {
    return [...this.#apps.values()].map(({ app }) => app);
  }

  /** Takes an event; true when it changes what a reconciliation depends on, and not only what one wrote. */
  seen(given: Application): boolean {
    const app = sane(given);
    const instance = instanceOf(app, this.#namespace);
    const old = this.#apps.get(instance);
    if (old && old.app.metadata.uid === app.metadata.uid && !isNewer(app, old.app)) return false;
    const inputs = inputsOf(app);
    this.#apps.set(instance, { app, inputs });
    return !old || !same(old.inputs, inputs);
  }

  gone(name: string): void {
    this.#apps.delete(name);
  }

  /**
   * Takes the answer to a request of ours; true when it shows another client's change. Only a watch makes an application known: by the time of the
   * answer it may be gone, and would be handled for ever; or another one of its name exists.
   */
  #answered(app: Application): boolean {
    const known = this.#apps.get(instanceOf(app, this.#namespace))?.app;
    return known?.metadata.uid === app.metadata.uid && this.seen(app);
  }

  /**
   * Writes a merge patch and remembers the answer. `own` says that the patch itself changes inputs (and carries a resourceVersion, so
   * that no other client's change can be in the answer); otherwise changed inputs in the answer are another client's.
   */
  async patch(name: string, patch: object, own: boolean): Promise<Outcome<Application>> {
    const at = placeOfInstance(name, this.#namespace);
    const before = this.get(name);
    const written = (await this.#client.mergePatch(
      RESOURCES.application,
      at.namespace,
      at.name,
      patch,
    )) as Outcome<Application>;
    if (written.kind !== "done") return written;
    const changed = this.#answered(written.value);
    if (changed && !own) this.onForeignChange(name);
    return done(this.#told(before, written.value));
  }

  /**
   * The same for an application as it is known: it is replaced as a whole, and only if no other client has written meanwhile. For the API server
   * that is half the work of a merge patch (measured: 3.1 against 6.4 ms of its CPU).
   */
  async replace(known: Application, patch: object): Promise<Outcome<Application>> {
    // A number that is not exact in JavaScript would be written back changed.
    if (!isExact(known.spec) || !isExact(known.operation))
      return this.patch(instanceOf(known, this.#namespace), patch, "metadata" in patch);
    const { managedFields, ...metadata } = known.metadata;
    const next = merged({ ...known, metadata }, patch) as Application;
    const written = (await this.#client.update(RESOURCES.application, next)) as Outcome<Application>;
    if (written.kind !== "done") return written;
    this.#answered(written.value);
    return done(this.#told(known, written.value));
  }

  /** Reads an application again, after another client's write came between. */
  async reread(name: string): Promise<Application | undefined> {
    const at = placeOfInstance(name, this.#namespace);
    const read = (await this.#client.get(RESOURCES.application, at.namespace, at.name)) as Outcome<Application>;
    if (read.kind !== "done") return undefined;
    if (this.#answered(read.value)) this.onForeignChange(name);
    return this.get(name);
  }

  #told(before: Application | undefined, answer: Application): Application {
    const after = sane(answer);
    if (before && before.metadata.uid === after.metadata.uid) this.onWritten(before, after);
    return after;
  }

  /** Set by the controller: an application before and after a write of ours. */
  onWritten: (before: Application, after: Application) => void = () => {};

  /** Set by the controller: the answer to a write showed another client's change. */
  onForeignChange: (name: string) => void = () => {};
}

function inputsOf(app: Application): unknown {
  const { annotations, labels, finalizers, deletionTimestamp } = app.metadata;
  // Clients terminate an operation by a write into the status.
  const terminating = app.status?.operationState?.phase === "Terminating";
  return { spec: app.spec, operation: app.operation, annotations, labels, finalizers, deletionTimestamp, terminating };
}

function isNewer(a: Application, b: Application): boolean {
  const [x, y] = [a.metadata.resourceVersion ?? "", b.metadata.resourceVersion ?? ""];
  return x.length !== y.length ? x.length > y.length : x > y;
}

/** RFC 7396. */
function merged(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}

function isExact(value: unknown): boolean {
  if (typeof value === "number") return Number.isSafeInteger(value) || !Number.isInteger(value);
  return typeof value !== "object" || value === null || Object.values(value).every(isExact);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
