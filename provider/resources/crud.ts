import type { Client, Limit, Place, Reply, Stored } from "../client/client.ts";
import { later } from "../client/pause.ts";
import { report } from "../client/problem.ts";
import { readsOf } from "../client/reads.ts";
import { type ApplyContext, type Change, NotKnownYet, type Resource, type ResourceContext } from "../protocol/provider.ts";
import type { Attributes } from "../schema/attribute.ts";
import type { Diagnostics } from "../schema/diagnostics.ts";
import { parseDuration } from "../schema/duration.ts";
import { blank, changed, isMove } from "../schema/plan.ts";
import { meaning } from "../schema/same.ts";
import { defaultOf } from "../schema/type.ts";
import { equal } from "../value/equal.ts";
import type { Json } from "../value/json.ts";
import { string } from "../value/type.ts";
import { field, isMap, stringField, type Value, type ValueMap } from "../value/value.ts";
import { absence } from "../wait/agent.ts";
import { judgeGone } from "../wait/gone.ts";
import { type Judge, type Verdict, waitFor } from "../wait/wait.ts";
import { sealCredentials } from "./credentials.ts";
import { checkKeptCredentials } from "./credentials-kept.ts";
import { checkForms } from "./forms.ts";
import { warnOfLeftBehind } from "./left-behind.ts";
import type { Noun } from "./noun.ts";
import { checkReferences } from "./references.ts";
import { isReplaced, leftBehind, noteAdopted, noteReleased, planIdentity, wasAdopted } from "./replace.ts";
import { reportWait } from "./report.ts";
import { importForm, parseImportId, placeOf, printNoun, printPlace, printStored, resolveReference } from "./scope.ts";
import { fromSpec, toSpec } from "./spec.ts";
import { forgetUnready, noteReady, noteUnready, planWait, waitForCreated } from "./unready.ts";

/** What a noun does beyond the common way. */
export interface Ways {
  validate?(config: ValueMap, diagnostics: Diagnostics): void;
  /** What a create or update waits for. */
  readonly judge?: Judge;
  /** After the object was created or deleted. */
  replaced?(client: Client, place: Place): void;
}

/** What a wait may take when the configuration says nothing. */
const patience = 600_000;
/** How long an interrupted creation waits for the answer to what it has sent. */
const GRACE_MS = 10_000;
/** How often a write is made again because something changed between reading and writing. */
const attempts = 10;
/** How long a plan waits for the service when it only wants to know whether the key is good. */
const KEY_CHECK_MS = 5_000;

/** The Terraform resource of a noun: create, read, update, delete and import over the service's one way to store things. */
export function createResource(noun: Noun, ways: Ways = {}): Resource<Client> {
  const { schema } = noun;
  const { attributes } = schema;
  const spec: Attributes = Object.fromEntries(noun.spec.map((name) => [name, attributes[name]!]));
  const movable = Object.values(attributes).some((a) => a.moves === true);
  const hasCredentials = attributes.credentials?.writeOnly === true;

  /** The state of a stored object; what the user wrote (`prior`) is kept where it means the same. */
  function stateOf(stored: Stored, prior: ValueMap): ValueMap {
    const out = new Map([...blank(attributes), ...fromSpec(spec, stored.spec, prior)]);
    out.set("id", stored.id);
    if (attributes.org) out.set("org", stored.org ?? null);
    if (attributes.project) out.set("project", stored.project ?? null);
    out.set("uid", stored.uid);
    out.set("generation", stored.generation);
    if (attributes.status) out.set("status", fromSpec(attributes.status.attributes!, stored.status, null));
    for (const [name, a] of Object.entries(attributes)) if (a.local) out.set(name, prior.get(name) ?? defaultOf(a) ?? null);
    return out;
  }

  /** Waits if the user wants it; the state is what there is in any case. */
  async function settle(
    client: Client,
    stored: Stored,
    planned: ValueMap,
    limit: Limit,
    context: ApplyContext<Client>,
    { action, created }: { action: string; created: boolean },
  ): Promise<Value> {
    const after = (found: Stored) => kept(stateOf(found, planned), planned);
    context.checkpoint(after(stored));
    if (!ways.judge || planned.get("wait") !== true) return after(stored);
    const place = placeOf(noun, planned);
    const judge = withAgent(client, place, limit, ways.judge);
    const waited = created
      ? await waitForCreated(client, place, judge, limit, context, stored)
      : await waitFor(client, place, judge, limit, context.log, stored);
    if (waited.kind === "done") forgetUnready(context.private);
    else if (!created || !noteUnready(context, action, waited)) reportWait(context.diagnostics, action, waited, attributes);
    return after(waited.stored ?? stored);
  }

  /** Only what agents find in their clusters can be taken over from there. */
  const taking = (planned: ValueMap): { adopt?: boolean } => (noun.discovered && planned.get("adopt") === true ? { adopt: true } : {});

  const limitOf = (value: ValueMap, verb: "create" | "update" | "delete", signal: AbortSignal): Limit => {
    const text = stringField(field(value, "timeouts"), verb);
    return { deadline: Date.now() + ((text && parseDuration(text)) || patience), signal };
  };

  function planWithCredentials(change: Change, context: ResourceContext<Client>): ValueMap {
    checkKeptCredentials(noun, spec, change, context.diagnostics);
    return change.planned;
  }

  async function create({ config, planned }: Change, context: ApplyContext<Client>): Promise<Value> {
    const action = `Creating ${printStored(noun, placeOf(noun, planned))}`;
    const client = await context.client();
    const [place, limit, { diagnostics, log }] = [placeOf(noun, planned), limitOf(planned, "create", context.signal), context];
    const adopt = planned.get("adopt") === true;
    let reply: Reply<Stored>;
    let body: object;
    let attempt = 0;
    do {
      const plain = toSpec(spec, planned);
      const sealed = hasCredentials
        ? await sealCredentials({ client, attributes, config, spec: plain, place, limit, log, diagnostics, action })
        : undefined;
      if (sealed === null) return null;
      body = { ...plain, ...sealed };
      const condition = adopt ? { move: movable, ...taking(planned) } : ({ ifNoneMatch: "*" } as const);
      try {
        limit.signal.throwIfAborted();
        // An interrupt must not cut off the answer, or the object would be in no state.
        reply = await client.put(place, body, condition, { ...limit, signal: later(limit.signal, GRACE_MS) });
      } catch (error) {
        if (!context.signal.aborted) throw error;
        diagnostics.error(`${action}: interrupted`, "The run was interrupted before the service had answered. Apply again.");
        return leftBehind(client, noun, planned);
      }
    } while (!reply.ok && reply.problem.code === "credentials_key_mismatch" && ++attempt < attempts);
    // An answer that got lost on the way may have created it: then it is exactly what was sent.
    if (!reply.ok && reply.repeated && reply.problem.code === "already_exists") reply = await ours(client, place, body, limit, reply);
    if (!reply.ok) {
      if (reply.problem.code === "already_exists")
        diagnostics.error(
          `${action}: it exists already`,
          `The ${printNoun(noun)} ${printPlace(place)} exists already. Import it (\`terraform import ${noun.type}.NAME ${printPlace(place)}\`), or take it over with \`adopt = true\`. A replacement with \`create_before_destroy\` needs \`adopt = true\`, or another \`id\`.`,
          [{ attr: "id" }],
        );
      else report(diagnostics, action, reply.problem, attributes);
      return leftBehind(client, noun, planned);
    }
    if (adopt && reply.status === 200) noteAdopted(client, reply.body.uid);
    else ways.replaced?.(client, place);
    return settle(client, reply.body, planned, limit, context, { action, created: true });
  }

  async function update({ config, prior, planned }: Change & { prior: ValueMap }, context: ApplyContext<Client>): Promise<Value> {
    // Only what steers the provider differs: there is nothing to send, and the plan knows everything.
    const takesOver = taking(planned).adopt === true && prior.get("adopt") !== true;
    if (!changed(schema, planned, prior) && !takesOver) return planned;
    const action = `Updating ${printStored(noun, placeOf(noun, planned))}`;
    const client = await context.client();
    const [place, limit, { diagnostics, log }] = [placeOf(noun, planned), limitOf(planned, "update", context.signal), context];
    const move = isMove(attributes, planned, prior);
    // Another agent cannot open what is sealed to the one before.
    const renew =
      hasCredentials && (move || !equal(string, prior.get("credentials_version") ?? null, planned.get("credentials_version") ?? null));
    for (let attempt = 1; ; attempt++) {
      const current = await client.get(place, limit);
      if (!current.ok) {
        report(diagnostics, action, current.problem, attributes);
        return prior;
      }
      if (current.body.uid !== prior.get("uid") || current.body.generation !== Number(prior.get("generation"))) {
        diagnostics.error(`${action}: it has changed since the plan`, "Another change was made after this plan. Plan again to see it.");
        return stateOf(current.body, prior);
      }
      const plain = toSpec(spec, planned);
      const sealed = renew
        ? await sealCredentials({ client, attributes, config, spec: plain, place, limit, log, diagnostics, action })
        : undefined;
      if (sealed === null) return prior;
      const reply = await client.put(place, { ...plain, ...sealed }, { ifMatch: current.body.version, move, ...taking(planned) }, limit);
      if (reply.ok) return settle(client, reply.body, planned, limit, context, { action, created: false });
      // The version grows with every report of the agent too; only the generation says that a person changed it.
      const again = reply.status === 412 || reply.problem.code === "credentials_key_mismatch";
      if (again && attempt < attempts) continue;
      report(diagnostics, action, reply.problem, attributes);
      return prior;
    }
  }

  async function remove(state: ValueMap, context: ApplyContext<Client>): Promise<void> {
    const place = placeOf(noun, state);
    const action = `Deleting ${printStored(noun, place)}`;
    const client = await context.client();
    const limit = limitOf(state, "delete", context.signal);
    if (wasAdopted(client, state)) return;
    const uid = stringField(state, "uid");
    const query = {
      ...(uid ? { uid } : {}),
      ...(noun.cascade ? { cascade: stringField(state, "cascade") ?? "foreground" } : {}),
      ...(isReplaced(context.private) ? { replace: "true" } : {}),
    };
    const reply = await client.delete(place, query, limit);
    if (!reply.ok && reply.status === 404) return;
    if (reply.ok && query.replace) noteReleased(client, noun, state);
    if (!reply.ok) {
      report(context.diagnostics, action, reply.problem, attributes);
      return;
    }
    if (reply.status === 204) return;
    const judge = withAgent(client, place, limit, judgeGone(stringField(state, "uid")));
    const waited = await waitFor(client, place, judge, limit, context.log, reply.body);
    if (waited.kind !== "done") reportWait(context.diagnostics, action, waited, attributes);
  }

  return {
    schema,
    validate: async (config, diagnostics) => {
      // An unknown organisation is checked by the service, a project of none at all can be refused now.
      if (attributes.project && field(config, "project") !== null && field(config, "org") === null)
        diagnostics.error("Project without organisation", "A project is within an organisation: give `org` too.", [{ attr: "project" }]);
      ways.validate?.(config, diagnostics);
      await checkForms(noun.collection, spec, config, diagnostics);
    },
    plan: async (change, context) => {
      // A create asks the service nothing else, and a wrong key would be noticed only after other objects were made.
      if (change.prior === null) await checkKey(context);
      const checked = hasCredentials ? planWithCredentials(change, context) : change.planned;
      const planned = change.prior ? planWait(checked, change.prior, context) : checked;
      await checkReferences(noun, { prior: change.prior, planned }, context);
      if (change.prior && isMove(attributes, planned, change.prior)) await warnOfLeftBehind(noun, change.prior, context);
      return planIdentity(noun, { prior: change.prior, planned }, context);
    },
    create,
    update,
    delete: remove,
    read: async (state, context) => {
      const client = await context.client();
      const limit = limitOf(state, "update", context.signal);
      const reply = await readsOf(client).get(placeOf(noun, state), {
        ...limit,
        deadline: Math.min(limit.deadline, Date.now() + 60_000),
      });
      if (reply.ok) {
        await noteReady(context.private, reply.body, ways.judge);
        return stateOf(reply.body, state);
      }
      if (reply.status === 404 && reply.problem.code === "not_found") return null;
      report(context.diagnostics, `Reading ${printStored(noun, placeOf(noun, state))}`, reply.problem, attributes);
      return state;
    },
    import: async (text, context) => {
      const place = parseImportId(noun, text);
      if (!place) {
        context.diagnostics.error("Not an import id", `The id of ${noun.type} is \`${importForm(noun)}\`, got ${JSON.stringify(text)}.`);
        return null;
      }
      const client = await context.client();
      const reply = await client.get(place, { deadline: Date.now() + 60_000, signal: context.signal });
      if (reply.ok) return stateOf(reply.body, new Map());
      if (reply.status !== 404) report(context.diagnostics, "Import", reply.problem, attributes);
      return null;
    },
  };
}

/** Reports an API key that the service refuses. A service that is away, or not known yet, is left to the apply. */
async function checkKey({ client, signal, diagnostics }: ResourceContext<Client>): Promise<void> {
  let open: Client;
  try {
    open = await client();
  } catch (error) {
    if (error instanceof NotKnownYet) return;
    throw error;
  }
  const reply = await open.account({ deadline: Date.now() + KEY_CHECK_MS, signal });
  if (!reply.ok && (reply.status === 401 || reply.status === 403)) report(diagnostics, "Signing in", reply.problem, {});
}

/** The state after an apply, with the status that the plan promised: an agent that reports again meanwhile must not change it. */
function kept(state: ValueMap, planned: ValueMap): ValueMap {
  const promised = planned.get("status");
  return isMap(promised ?? null) ? state.set("status", promised!) : state;
}

/** Adds to a reason that the agent is away, which is what a person would look for first. */
function withAgent(client: Client, place: Place, limit: Limit, judge: Judge): Judge {
  return async (stored): Promise<Verdict> => {
    const verdict = await judge(stored);
    const name = stored?.spec.agent;
    const delivery = (stored?.status as { delivery?: { state?: string } } | undefined)?.delivery?.state;
    if (verdict.kind !== "later" || typeof name !== "string" || delivery === "Delivered") return verdict;
    const agent = await client.get(resolveReference("agents", name, place), limit);
    const away = agent.ok ? absence(name, agent.body) : undefined;
    return away ? { kind: "later", reason: away } : verdict;
  };
}

/** The object, if it is what was sent; else the refusal. */
async function ours(client: Client, place: Place, sent: object, limit: Limit, refusal: Reply<Stored>): Promise<Reply<Stored>> {
  const found = await client.get(place, limit);
  if (!found.ok) return refusal;
  const same = Object.entries(sent).every(
    ([name, value]) => name === "sealedCredentials" || meaning(value as Json) === meaning((found.body.spec[name] ?? null) as Json),
  );
  return same ? found : refusal;
}
