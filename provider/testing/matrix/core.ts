import { messageOf, valueIn } from "../../protocol/convert.ts";
import { dispatch, type RpcName } from "../../protocol/dispatch.ts";
import type { Message, MessageName } from "../../protocol/messages.ts";
import type { Provider } from "../../protocol/provider.ts";
import { Session } from "../../protocol/session.ts";
import { decode, encode } from "../../protocol/wire.ts";
import type { Attributes, Schema } from "../../schema/attribute.ts";
import { objectOf } from "../../schema/type.ts";
import { equal } from "../../value/equal.ts";
import { isMap, type Value, type ValueMap } from "../../value/value.ts";

/** Errors that the provider told, as one text. */
export class Refused extends Error {}

/** What core does with one resource, over the messages of the protocol: a plan without the seconds that a process costs. */
export class Core {
  readonly #session: Session;
  readonly #type: string;
  readonly #schema: Schema;

  private constructor(session: Session, type: string, schema: Schema) {
    this.#session = session;
    this.#type = type;
    this.#schema = schema;
  }
  static async open(provider: Provider, type: string): Promise<Core> {
    const session = new Session(provider, () => {});
    return new Core(session, type, (await session.resource(type)).schema);
  }
  get attributes(): Attributes {
    return this.#schema.attributes;
  }

  async import(id: string): Promise<ValueMap> {
    const { imported_resources = [] } = await this.#call("ImportResourceState", { type_name: this.#type, id });
    return this.refresh(this.#value(imported_resources[0]?.state) as ValueMap);
  }
  async refresh(state: ValueMap): Promise<ValueMap> {
    const answer = await this.#call("ReadResource", { type_name: this.#type, current_state: this.#message(state) });
    return this.#value(answer.new_state) as ValueMap;
  }
  /** Validates and plans. The plan is what core shows: empty when planned and prior are the same. */
  async plan(
    config: ValueMap,
    prior: ValueMap | null,
  ): Promise<{ planned: ValueMap; empty: boolean; replaces: number }> {
    const type_name = this.#type;
    await this.#call("ValidateResourceConfig", {
      type_name,
      config: this.#message(config),
      client_capabilities: { write_only_attributes_allowed: true },
    });
    const answer = await this.#call("PlanResourceChange", {
      type_name,
      config: this.#message(config),
      prior_state: this.#message(prior),
      proposed_new_state: this.#message(config),
    });
    const planned = this.#value(answer.planned_state) as ValueMap;
    const type = objectOf(this.attributes);
    return {
      planned,
      empty: prior !== null && equal(type, planned, prior),
      replaces: answer.requires_replace?.length ?? 0,
    };
  }
  async apply(config: ValueMap, prior: ValueMap | null, planned: ValueMap): Promise<ValueMap> {
    const answer = await this.#call("ApplyResourceChange", {
      type_name: this.#type,
      config: this.#message(config),
      prior_state: this.#message(prior),
      planned_state: this.#message(planned),
    });
    return this.#value(answer.new_state) as ValueMap;
  }
  async destroy(state: ValueMap): Promise<void> {
    const type_name = this.#type;
    const prior_state = this.#message(state);
    await this.#call("ApplyResourceChange", {
      type_name,
      prior_state,
      planned_state: this.#message(null),
      config: this.#message(null),
    });
  }
  stop(): void {
    this.#session.stop("the test is over");
  }

  async #call<N extends RpcName>(name: N, request: object): Promise<Message<`${N}.Response` & MessageName>> {
    const bytes = encode(`${name}.Request` as MessageName, request as Message<MessageName>);
    const answer = decode(`${name}.Response` as MessageName, await dispatch(this.#session, name, bytes));
    const { diagnostics = [] } = answer as { diagnostics?: Message<"Diagnostic">[] };
    const errors = diagnostics.filter((one) => one.severity === 1);
    if (errors.length > 0) throw new Refused(errors.map(({ summary, detail }) => `${summary}: ${detail}`).join("\n"));
    return answer as Message<`${N}.Response` & MessageName>;
  }
  #message(value: Value) {
    return messageOf(objectOf(this.attributes), value);
  }
  #value(message: Message<"DynamicValue"> | undefined): Value {
    return valueIn(objectOf(this.attributes), message);
  }
}

/** The configuration that says what a state says, as `-generate-config-out` writes it: what only the service can set is left out. */
export function configOf(attributes: Attributes, state: ValueMap): ValueMap {
  const out: ValueMap = new Map();
  for (const [name, a] of Object.entries(attributes)) {
    const value = state.get(name) ?? null;
    const inner = (one: Value) => (isMap(one) && a.attributes ? configOf(a.attributes, one) : one);
    if (a.presence === "computed" || a.writeOnly) out.set(name, null);
    else if (!a.attributes || value === null || a.nesting === "single") out.set(name, inner(value));
    else if (isMap(value)) out.set(name, new Map([...value].map(([k, v]) => [k, inner(v)])));
    else out.set(name, (value as Value[]).map(inner));
  }
  return out;
}
