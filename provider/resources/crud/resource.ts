import type { Client } from "../../client/client.ts";
import { report } from "../../client/problem.ts";
import { readsOf } from "../../client/reads.ts";
import { NotKnownYet, type PlannedChange, type Resource, type ResourceContext } from "../../protocol/provider.ts";
import type { Diagnostics } from "../../schema/diagnostics.ts";
import { isMove } from "../../schema/plan.ts";
import type { Value, ValueMap } from "../../value/value.ts";
import { checkScope } from "../checks.ts";
import { checkKeptCredentials } from "../credentials/credentials-kept.ts";
import { checkForms } from "../forms.ts";
import type { Noun } from "../noun.ts";
import { checkReferences } from "../references/check.ts";
import { warnOfLeftBehind } from "../references/left-behind.ts";
import { noSuch } from "../references/missing.ts";
import { checkTwice, planIdentity } from "../replace.ts";
import { importFault, importForm, parseImportId, placeOf, printNoun, printStored } from "../scope.ts";
import { noteReady, planWait } from "../unready.ts";
import { Watch } from "../written/warn.ts";
import { create } from "./create.ts";
import { kindOf, limitOf, type ResourceHooks, type ResourceKind, stateOf } from "./kind.ts";
import { remove } from "./remove.ts";
import { update } from "./update.ts";

const watch = new Watch(process.cwd());

/** How long a read may take, and a plan that only wants to know whether the key is good. */
const READ_MS = 60_000;
const KEY_CHECK_MS = 5_000;

/** The Terraform resource of a noun: create, read, update, delete and import over the service's one way to store things. */
export function createResource(noun: Noun, ways: ResourceHooks = {}): Resource<Client> {
  const kind = kindOf(noun, ways);
  return {
    schema: noun.schema,
    validate: (config, diagnostics) => validate(kind, config, diagnostics),
    plan: (change, context) => plan(kind, change, context),
    planDelete: (prior, context) => checkTwice(noun, prior, "goes", context),
    create: (change, context) => create(kind, change, context),
    update: (change, context) => update(kind, change, context),
    delete: (state, context) => remove(kind, state, context),
    read: (state, context) => read(kind, state, context),
    import: (text, context) => importObject(kind, text, context),
  };
}

async function validate(
  { noun, ways, attributes, spec }: ResourceKind,
  config: ValueMap,
  diagnostics: Diagnostics,
): Promise<void> {
  checkScope(config, diagnostics);
  ways.validate?.(config, diagnostics);
  watch.warn(noun.type, attributes, config, diagnostics);
  await checkForms(noun.collection, spec, config, diagnostics);
}

async function plan(
  { noun, attributes, spec, hasCredentials }: ResourceKind,
  change: PlannedChange,
  context: ResourceContext<Client>,
) {
  const { prior } = change;
  if (prior) await checkTwice(noun, prior, "stays", context);
  // A create asks the service nothing else, and a wrong key would be noticed only after other objects were made.
  if (prior === null) await checkKey(context);
  if (hasCredentials) checkKeptCredentials(noun, spec, change, context.diagnostics);
  const planned = prior ? planWait(change.planned, prior, context) : change.planned;
  await checkReferences(noun, { prior, planned }, context);
  if (prior && isMove(attributes, planned, prior)) await warnOfLeftBehind(noun, prior, context);
  return planIdentity(noun, { prior, planned }, context);
}

async function read(kind: ResourceKind, state: ValueMap, context: ResourceContext<Client>): Promise<Value> {
  const { noun, ways, attributes } = kind;
  const client = await context.client();
  const limit = limitOf(state, "update", context.signal);
  const reply = await readsOf(client).get(placeOf(noun, state), {
    ...limit,
    deadline: Math.min(limit.deadline, Date.now() + READ_MS),
  });
  if (reply.ok) {
    await noteReady(context.private, reply.body, ways.judge);
    return stateOf(kind, reply.body, state);
  }
  if (reply.status === 404 && reply.problem.code === "not_found") return null;
  report(context.diagnostics, `Reading ${printStored(noun, placeOf(noun, state))}`, reply.problem, attributes);
  return state;
}

async function importObject(kind: ResourceKind, text: string, context: ResourceContext<Client>): Promise<Value> {
  const { noun, attributes } = kind;
  const place = parseImportId(noun, text);
  const { diagnostics, signal } = context;
  if (!place) {
    diagnostics.error("Not an import id", importFault(noun, text));
    return null;
  }
  const client = await context.client();
  const reply = await client.get(place, { deadline: Date.now() + READ_MS, signal });
  if (reply.ok) return stateOf(kind, reply.body, new Map());
  if (reply.status !== 404) report(diagnostics, "Import", reply.problem, attributes);
  else {
    const scope =
      place.org || !noun.scopes.includes("org") ? "" : ` An import id names its scope: \`${importForm(noun)}\`.`;
    diagnostics.error(
      "Nothing to import",
      `${await noSuch(client, printNoun(noun).replaceAll("_", " "), place, signal)}${scope}`,
    );
  }
  return null;
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
