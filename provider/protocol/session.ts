import { Diagnostics, reason } from "../schema/diagnostics.ts";
import { blank } from "../schema/plan.ts";
import type { ValueMap } from "../value/value.ts";
import type { Log } from "./log.ts";
import {
  type CallContext,
  type DataSource,
  type EphemeralResource,
  type Lazy,
  Misconfigured,
  type Provider,
  type ProviderFunction,
  type Resource,
} from "./provider.ts";

/** How long closing what is left may take: Terraform kills a provider two seconds after it asked it to end. */
const CLOSE_MS = 1_500;

/** One connection of Terraform: one configured instance of the provider. Aliases never share anything. */
export class Session {
  readonly provider: Provider;
  readonly log: Log;
  readonly #stop = new AbortController();
  #config: ValueMap | undefined;
  #terraformVersion = "";
  #client: Promise<unknown> | undefined;
  readonly #leases = new Map<string, (signal: AbortSignal) => Promise<void>>();
  #closing: Promise<void> | undefined;

  constructor(provider: Provider, log: Log) {
    this.provider = provider;
    this.log = log;
  }
  get signal(): AbortSignal {
    return this.#stop.signal;
  }
  stop(why: string): void {
    this.#stop.abort(new Error(why));
  }
  /** Notes an ephemeral object that has to be closed. */
  opened(lease: string, close: (signal: AbortSignal) => Promise<void>): void {
    this.#leases.set(lease, close);
  }
  closed(lease: string): void {
    this.#leases.delete(lease);
  }
  /** Closes what is still open. After a failure or Ctrl-C Terraform ends without closing anything. */
  closeLeft(): Promise<void> {
    this.#closing ??= (async () => {
      const signal = AbortSignal.timeout(CLOSE_MS);
      const left = [...this.#leases.values()].map((close) => close(signal));
      const ended = await Promise.allSettled(left);
      for (const one of ended)
        if (one.status === "rejected") this.log("warn", `something was left open: ${reason(one.reason)}`);
    })();
    return this.#closing;
  }
  configure(config: ValueMap, terraformVersion: string): void {
    this.#config = config;
    this.#terraformVersion = terraformVersion;
    this.#client = undefined;
  }
  context(diagnostics: Diagnostics): CallContext<unknown> {
    return { signal: this.signal, log: this.log, diagnostics, client: () => this.#open() };
  }
  /** The client is made when first needed; a failed attempt is not kept. */
  #open(): Promise<unknown> {
    if (!this.#client) {
      const config = this.#config ?? blank(this.provider.schema.attributes);
      const context = { terraformVersion: this.#terraformVersion, log: this.log, signal: this.signal };
      const made = (async () => this.provider.configure(config, context))();
      made.catch(() => {
        if (this.#client === made) this.#client = undefined;
      });
      this.#client = made;
    }
    return this.#client;
  }

  resource(name: string | undefined): Promise<Resource> {
    return this.#part(this.provider.resources, "resource", name);
  }
  dataSource(name: string | undefined): Promise<DataSource> {
    return this.#part(this.provider.dataSources, "data source", name);
  }
  ephemeral(name: string | undefined): Promise<EphemeralResource> {
    return this.#part(this.provider.ephemeralResources, "ephemeral resource", name);
  }
  function(name: string | undefined): Promise<ProviderFunction> {
    return this.#part(this.provider.functions, "function", name);
  }
  async #part<T>(parts: Readonly<Record<string, Lazy<T>>>, kind: string, name: string | undefined): Promise<T> {
    if (name === undefined || !Object.hasOwn(parts, name)) throw new Error(`this provider has no ${kind} ${name}`);
    return parts[name]!();
  }
}

/** Turns what a handler threw into a diagnostic, with the stack in the log only. */
export function caught(error: unknown, subject: string, log: Log, diagnostics: Diagnostics): void {
  log("error", `${subject}: ${reason(error)}`, { stack: error instanceof Error ? error.stack : undefined });
  // Terraform shows it at a resource: the title says that the fault is not there.
  diagnostics.error(
    error instanceof Misconfigured ? "The provider's configuration" : `${subject} failed`,
    reason(error),
  );
}

export { Diagnostics };
