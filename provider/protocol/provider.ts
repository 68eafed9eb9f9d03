import type { Schema } from "../schema/attribute.ts";
import type { Diagnostics } from "../schema/diagnostics.ts";
import type { Json } from "../value/json.ts";
import type { Type } from "../value/type.ts";
import type { Value, ValueMap } from "../value/value.ts";
import type { Log } from "./log.ts";

/** A part that is loaded when it is first needed: two of the three processes of a plan need no client and few schemas. */
export type Lazy<T> = () => T | Promise<T>;

/** What every handler gets. */
export interface CallContext<Client> {
  /** Aborted by Ctrl-C (StopProvider) and when Terraform has gone. */
  readonly signal: AbortSignal;
  readonly log: Log;
  /** Errors and warnings for the user. */
  readonly diagnostics: Diagnostics;
  /** The configured client of this session. */
  client(): Promise<Client>;
}

/** In the private data of a delete: it is no half of a replacement. */
export const DESTROYS = "destroys";

/** Data that a resource keeps beside its state, for itself. */
export type PrivateState = Map<string, Json>;

export interface ResourceContext<Client> extends CallContext<Client> {
  readonly private: PrivateState;
}

/** The configuration of the provider is not known before the apply, so that there is no client yet. */
export class NotKnownYet extends Error {}
/** The provider block, the environment or the sign-in says too little, or something wrong. */
export class Misconfigured extends Error {}

export interface ApplyContext<Client> extends ResourceContext<Client> {
  /** Keeps a partial state, which is stored if the handler fails or crashes from here on. Unknown values become null. */
  checkpoint(state: Value): void;
}

export interface PlannedChange {
  readonly config: ValueMap;
  /** Null when the object is created. */
  readonly prior: ValueMap | null;
  readonly planned: ValueMap;
}

/** A managed resource. A handler that reported an error may return what it knows; null keeps the state from before. */
export interface Resource<Client = unknown> {
  readonly schema: Schema;
  /** Checks that need more than the rules of single attributes; parts may be unknown. No network. */
  validate?(config: ValueMap, diagnostics: Diagnostics): void | Promise<void>;
  /** Changes the plan that follows from the schema. */
  plan?(change: PlannedChange, context: ResourceContext<Client>): ValueMap | Promise<ValueMap>;
  /** Looks at a planned deletion. */
  planDelete?(prior: ValueMap, context: ResourceContext<Client>): void | Promise<void>;
  create(change: PlannedChange, context: ApplyContext<Client>): Promise<Value>;
  /** Null means that the object is gone. */
  read(state: ValueMap, context: ResourceContext<Client>): Promise<Value>;
  update(change: PlannedChange & { prior: ValueMap }, context: ApplyContext<Client>): Promise<Value>;
  delete(state: ValueMap, context: ApplyContext<Client>): Promise<void>;
  /** The state for an id, as far as a read needs it; null after an error. */
  import?(id: string, context: ResourceContext<Client>): Promise<Value>;
  /** From the schema's version to the next one, on JSON state. */
  readonly upgrade?: { readonly [from: number]: (state: { [name: string]: Json }) => { [name: string]: Json } };
}

export interface DataSource<Client = unknown> {
  readonly schema: Schema;
  validate?(config: ValueMap, diagnostics: Diagnostics): void;
  read(config: ValueMap, context: CallContext<Client>): Promise<Value>;
}

/** What opening or renewing gives: the lease is whatever `private` needs to renew or close. */
export interface Lease {
  readonly private?: Json;
  readonly renewAt?: Date;
}

export interface EphemeralResource<Client = unknown> {
  readonly schema: Schema;
  validate?(config: ValueMap, diagnostics: Diagnostics): void;
  open(config: ValueMap, context: CallContext<Client>): Promise<(Lease & { result: Value }) | null>;
  renew?(lease: Json, context: CallContext<Client>): Promise<Lease | null>;
  close?(lease: Json, context: CallContext<Client>): Promise<void>;
}

/** A function refuses its arguments by throwing this. */
export class FunctionFault extends Error {
  readonly argument: number | undefined;
  constructor(message: string, argument?: number) {
    super(message);
    this.argument = argument;
  }
}

export interface Parameter {
  readonly name: string;
  readonly type: Type;
  readonly description: string;
  readonly nullable?: boolean;
}

export interface ProviderFunction {
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly variadic?: Parameter;
  readonly returns: Type;
  call(args: readonly Value[]): Value | Promise<Value>;
}

export interface Provider<Client = unknown> {
  readonly name: string;
  readonly version: string;
  readonly schema: Schema;
  validate?(config: ValueMap, diagnostics: Diagnostics): void;
  /** Makes the client; called once a session, when a handler first asks for it. */
  configure(
    config: ValueMap,
    context: { terraformVersion: string; log: Log; signal: AbortSignal },
  ): Client | Promise<Client>;
  /** Looks whether the configuration works, as far as that is known; what it reports ends the run before any resource. */
  check?(context: CallContext<Client>): Promise<void>;
  readonly resources: Readonly<Record<string, Lazy<Resource<Client>>>>;
  readonly dataSources: Readonly<Record<string, Lazy<DataSource<Client>>>>;
  readonly ephemeralResources: Readonly<Record<string, Lazy<EphemeralResource<Client>>>>;
  readonly functions: Readonly<Record<string, Lazy<ProviderFunction>>>;
}
