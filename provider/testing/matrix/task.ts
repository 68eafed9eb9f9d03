import type { JsonSchema, Schemas } from "../../generate/attribute.ts";
import { taskRequest } from "../../generated/task-request.ts";
import type { Provider } from "../../protocol/provider.ts";
import { fromSpec } from "../../resources/spec.ts";
import type { Attributes } from "../../schema/attribute.ts";
import type { Json } from "../../value/json.ts";
import { stringField, type ValueMap } from "../../value/value.ts";
import type { RealService } from "../real.ts";
import { Core } from "./core.ts";
import type { Verdict } from "./matrix.ts";
import { viewOfSpec, viewOfState } from "./view.ts";

type JsonObject = { readonly [name: string]: Json };
const NAMES = Object.keys(taskRequest);

/** A task cannot be changed, so that its promise is another one: what a configuration says is what the service runs, and it stays so. */
export class TaskMatrix {
  readonly #service: RealService;
  readonly #core: Core;
  readonly #schemas: Schemas;
  private constructor(service: RealService, core: Core, schemas: Schemas) {
    this.#service = service;
    this.#core = core;
    this.#schemas = schemas;
  }
  static async open(service: RealService, provider: Provider, schemas: Schemas): Promise<TaskMatrix> {
    return new TaskMatrix(service, await Core.open(provider, "outpost_task"), schemas);
  }
  close(): void {
    this.#core.stop();
  }
  get attributes(): Attributes {
    return this.#core.attributes;
  }

  /** Creates the task of a request, compares it with what the service holds, plans again, and destroys it. */
  async run(request: JsonObject): Promise<Verdict> {
    const lie = (what: string): Verdict => ({ kind: "lie", what });
    const config = this.#configOf(request);
    const { planned } = await this.#core.plan(config, null);
    let state: ValueMap;
    try {
      state = await this.#core.apply(config, null, planned);
    } catch (error) {
      return { kind: "refused", why: (error as Error).message };
    }
    const { body } = await this.#service.ask("GET", `/v1/tasks/${stringField(state, "id")}`);
    const held = print(viewOfSpec(this.#schemas, this.#schemas.TaskRequest as JsonSchema, body as unknown as Json));
    const shown = this.#shown(state);
    if (shown !== held) return lie(`the state shows ${shown}, the service holds ${held}`);
    const settled = await this.#core.refresh(state);
    const { empty, planned: next, replaces } = await this.#core.plan(config, settled);
    if (!empty)
      return lie(`the plan after the apply is not empty: ${shown} → ${this.#shown(next)} (${replaces} replace it)`);
    await this.#core.destroy(settled);
    return { kind: "held" };
  }

  #configOf(request: JsonObject): ValueMap {
    const given = fromSpec(
      Object.fromEntries(
        Object.entries(taskRequest).map(([name, a]) => [name, { ...a, default: undefined }]),
      ) as Attributes,
      request,
      null,
    );
    const all = Object.keys(this.#core.attributes).map((name): [string, null] => [name, null]);
    return new Map([...all, ...given, ["wait", false]]) as ValueMap;
  }
  #shown(state: ValueMap): string {
    return print(viewOfState(this.#core.attributes, NAMES, state));
  }
}

/** An empty list means nothing in a request, and the service shows one where nothing was given. */
const print = (view: Json): string =>
  JSON.stringify(view, (_, one) => (Array.isArray(one) && one.length === 0 ? null : one));
