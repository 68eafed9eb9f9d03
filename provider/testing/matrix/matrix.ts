import type { JsonSchema, Schemas } from "../../generate/attribute.ts";
import type { Provider } from "../../protocol/provider.ts";
import type { Noun } from "../../resources/noun.ts";
import { camel } from "../../schema/names.ts";
import type { Json } from "../../value/json.ts";
import type { ValueMap } from "../../value/value.ts";
import type { RealService } from "../real.ts";
import { Core, configOf } from "./core.ts";
import { enrolAgent } from "./enrol.ts";
import { viewOfSpec, viewOfState } from "./view.ts";

type JsonObject = { readonly [name: string]: Json };

/** What became of one value: the promise held, the service does not take the value, or a lie and where. */
export type Verdict =
  | { kind: "held" }
  | { kind: "same" }
  | { kind: "refused"; why: string }
  | { kind: "lie"; what: string };

/** The object that the cases change: one of its scope, or of the organisation that is named. */
interface At {
  readonly org?: string | undefined;
  readonly id?: string;
}
/** A starting point as the service holds it, and as Terraform has imported it. */
interface Imported {
  readonly kind: "imported";
  readonly view: string;
  readonly state: ValueMap;
  readonly config: ValueMap;
}

/** One object of a noun at the service, with its configuration and state in Terraform. */
export class Matrix {
  readonly #service: RealService;
  readonly #noun: Noun;
  readonly #core: Core;
  readonly #path: string;
  readonly #importId: string;
  readonly #schema: JsonSchema;
  readonly #schemas: Schemas;
  /** The imports of starting points, by their spec: hundreds of cases begin at the same one. */
  readonly #bases = new Map<string, Imported>();
  /** The starting point that the service holds now, if it does. */
  #holds: string | undefined;

  private constructor(
    service: RealService,
    noun: Noun,
    core: Core,
    schemas: Schemas,
    { org: given, id = "matrix" }: At,
  ) {
    this.#service = service;
    this.#noun = noun;
    this.#core = core;
    this.#schemas = schemas;
    this.#schema = schemas[`${noun.name}Spec`]!;
    const org = given ?? (noun.scopes.includes("account") ? "" : "team");
    this.#path = `/v1/${noun.collection}/${id}${org && `?org=${org}`}`;
    this.#importId = org ? `${org}/${id}` : id;
  }
  static async open(
    service: RealService,
    noun: Noun,
    provider: Provider,
    schemas: Schemas,
    at: At = {},
  ): Promise<Matrix> {
    return new Matrix(service, noun, await Core.open(provider, noun.type), schemas, at);
  }
  close(): void {
    this.#core.stop();
  }

  /**
   * Changes the object behind Terraform's back from one spec to another, and says whether Terraform told the truth: the state shows what
   * the service holds, the plan wants exactly the configuration back, the apply restores it, and the plan after it is empty. The same
   * again the other way round, with the configuration that an import gives, whose first plan must be empty.
   */
  async change(base: JsonObject, wanted: JsonObject): Promise<Verdict> {
    const first = await this.#start(base);
    if (first.kind !== "imported") return first;
    const after = await this.#put(wanted);
    if (!after.ok) return { kind: "refused", why: after.why };
    this.#holds = undefined;
    if (after.view === first.view) return { kind: "same" };
    const second = await this.#imported(wanted);
    if (second.kind === "lie") return second;
    return (
      (await this.#restore(first, first.view, after.view)) ??
      (await this.#restore(second, after.view, first.view)) ?? { kind: "held" }
    );
  }

  /** Puts the starting point, unless a refused change has left it as it was, and imports it, unless an earlier case did. */
  async #start(base: JsonObject): Promise<Imported | Verdict> {
    const name = JSON.stringify(base);
    const known = this.#bases.get(name);
    if (known && this.#holds === name) return known;
    const put = await this.#put(base);
    if (!put.ok) return { kind: "refused", why: `the base itself: ${put.why}` };
    this.#holds = name;
    if (known) return known;
    const imported = await this.#imported(base);
    if (imported.kind === "lie") return imported;
    const found = { ...imported, view: put.view };
    this.#bases.set(name, found);
    return found;
  }

  /** The state and configuration that an import of the object gives. Its plan must be empty. */
  async #imported(spec: JsonObject): Promise<Omit<Imported, "view"> | { kind: "lie"; what: string }> {
    const state = await this.#core.import(this.#importId);
    // Without an agent, nothing is ever delivered.
    if (this.#core.attributes.wait) state.set("wait", false);
    const config = configOf(this.#core.attributes, state);
    if (this.#core.attributes.credentials) config.set("credentials", this.#secretsOf(spec.credentials));
    const { empty, planned } = await this.#core.plan(config, state);
    if (!empty)
      return {
        kind: "lie",
        what: `the plan after an import is not empty: ${this.#shown(state)} → ${this.#shown(planned)}`,
      };
    return { kind: "imported", state, config };
  }

  /** Brings the object, which says `now`, back to a configuration that says `wanted`. */
  async #restore(
    { state, config }: { state: ValueMap; config: ValueMap },
    wanted: string,
    now: string,
  ): Promise<Verdict | undefined> {
    const lie = (what: string): Verdict => ({ kind: "lie", what });
    const seen = await this.#core.refresh(state);
    if (this.#shown(seen) !== now) return lie(`the state shows ${this.#shown(seen)}, the service holds ${now}`);
    // Credentials go with every change here, as the service asks for them with some.
    if (config.get("credentials")) config.set("credentials_version", `${now.length}-${Math.random()}`);
    const { planned, empty, replaces } = await this.#core.plan(config, seen);
    if (empty) return lie(`the plan is empty, though ${wanted} became ${now}`);
    if (replaces > 0) return lie("the plan replaces the object, though the service changed it in place");
    if (this.#shown(planned) !== wanted)
      return lie(`the plan wants ${this.#shown(planned)}, the configuration says ${wanted}`);
    const applied = await this.#core.apply(config, seen, planned);
    const held = await this.#view();
    if (held !== wanted) return lie(`after the apply the service holds ${held}, the configuration says ${wanted}`);
    const settled = await this.#core.refresh(applied);
    const next = await this.#core.plan(config, settled);
    return next.empty
      ? undefined
      : lie(`the plan after the apply is not empty: ${this.#shown(settled)} → ${this.#shown(next.planned)}`);
  }

  /** The credentials of a spec as a configuration has them; null when it has none. */
  #secretsOf(credentials: Json | undefined): ValueMap | null {
    if (typeof credentials !== "object" || credentials === null) return null;
    const names = Object.keys(this.#core.attributes.credentials!.attributes!);
    return new Map(names.map((name) => [name, (credentials as { [name: string]: string })[camel(name)] ?? null]));
  }
  #shown(state: ValueMap): string {
    return withoutVersion(viewOfState(this.#core.attributes, this.#noun.spec, state));
  }
  async #put(spec: JsonObject): Promise<{ ok: true; view: string } | { ok: false; why: string }> {
    const { status, body } = await this.#service.ask("PUT", this.#path, { spec });
    if (status >= 500)
      throw new Error(`the service answered ${status} to ${JSON.stringify(spec)}: ${JSON.stringify(body)}`);
    return status < 300
      ? { ok: true, view: this.#viewOf(body) }
      : { ok: false, why: `${String(body.pointer)} ${String(body.detail)}` };
  }
  async #view(): Promise<string> {
    return this.#viewOf((await this.#service.ask("GET", this.#path)).body);
  }
  #viewOf(stored: Record<string, unknown>): string {
    return withoutVersion(viewOfSpec(this.#schemas, this.#schema, stored.spec as Json));
  }
}

/** As text, with any version of credentials that are there the same: it only says when to send them again. */
const withoutVersion = (view: Json): string =>
  JSON.stringify(view, (name, one) => (name === "credentials_version" && one ? "given" : one));

/** Objects that the cases refer to. */
export async function putNeighbours(service: RealService): Promise<void> {
  const put = async (path: string, spec: object): Promise<void> => {
    const { status, body } = await service.ask("PUT", `/v1/${path}`, { spec });
    if (status >= 300) throw new Error(`${path}: ${JSON.stringify(body)}`);
  };
  await put("organizations/team", {});
  await put("agents/prod", {});
  await put("agents/stage", {});
  await enrolAgent(service, "prod");
  for (const id of ["shop", "other"]) await put(`appprojects/${id}`, { agent: "prod" });
  for (const id of ["one", "two"]) await put(`clusters/${id}`, { agent: "prod", server: `https://${id}.example.com` });
  for (const id of ["cart", "search"]) await put(`services/${id}`, {});
  for (const id of ["dev", "live"]) await put(`environments/${id}`, { type: "pre-production" });
  for (const id of ["code", "more"])
    await put(`repositories/${id}`, { agent: "prod", url: `https://git.example.com/${id}.git` });
}
