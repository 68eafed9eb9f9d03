import { randomUUID } from "node:crypto";
import type { components } from "../../openapi/contract/types.ts";
import type { Client, Limit, Reply } from "../client/client.ts";
import { pause } from "../client/pause.ts";
import { report } from "../client/problem.ts";
import { taskRequest } from "../generated/task-request.ts";
import type { ApplyContext, Resource } from "../protocol/provider.ts";
import type { Attribute, Attributes } from "../schema/attribute.ts";
import { parseDuration, printDuration } from "../schema/duration.ts";
import { defaultOf } from "../schema/type.ts";
import { field, stringField, text, Unknown, unknown, type Value, type ValueMap } from "../value/value.ts";
import { checkScope } from "./checks.ts";
import { reportFaults } from "./forms.ts";
import { fromSpec, toSpec } from "./spec.ts";

type Task = components["schemas"]["Task"];

const ENDED = new Set<Task["state"]>(["Succeeded", "Failed", "Cancelled", "Unknown", "TimedOut"]);
const POLL_MS = { first: 250, most: 2_000 };
/** In the private data of a task that had not ended when its creation stopped waiting. */
const UNENDED = "unended";
/** How much of a failed task's log stands in the diagnostic. */
const LOG_LINES = 20;
/** Added to the task's own bounds: the service ends it by itself, and that end is the better answer. */
const MARGIN_MS = 60_000;

const label = { pattern: "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", maxLength: 63 };
const computed = (description: string): Attribute => ({ type: "string", presence: "computed", description });
const flag = (description: string, preset: boolean): Attribute => ({
  type: "bool",
  presence: "either",
  default: preset,
  local: true,
  description,
});

const request: Attributes = Object.fromEntries(
  Object.entries(taskRequest).map(([name, a]) => [name, { ...a, replace: true }]),
);
const attributes: Attributes = {
  org: {
    type: "string",
    presence: "optional",
    replace: true,
    rules: label,
    description: "The organisation that it runs in; none means the account itself.",
  },
  project: {
    type: "string",
    presence: "optional",
    replace: true,
    rules: label,
    description: "The project within `org`.",
  },
  ...request,
  triggers: {
    type: ["map", "string"],
    presence: "optional",
    replace: true,
    description: "Any values: when one of them changes, the task is run again, as when anything else of it changes.",
  },
  wait: flag("Wait until the task has ended, and fail when it did not succeed. Default: `true`.", true),
  cancel_on_destroy: flag("Cancel the task when this is destroyed while it still runs. Default: `true`.", true),
  timeouts: {
    nesting: "single",
    presence: "optional",
    local: true,
    description: "How long to wait, as durations such as `90s` or `10m`.",
    attributes: {
      create: {
        type: "string",
        presence: "optional",
        local: true,
        description:
          "Default: what the task may take by `queue_timeout_seconds`, `timeout_seconds` and its attempts, at most `1h`.",
        rules: { duration: true },
      },
    },
  },
  id: computed("The id of the task."),
  state: computed("`Queued`, `Running`, `Succeeded`, `Failed`, `Cancelled`, `Unknown` or `TimedOut`."),
  reason: computed("A constant that says why it ended so."),
  outputs: { ...computed("What it gave, as JSON text; `jsondecode` reads it."), rules: { json: "object" } },
};

/**
 * A task as a resource: it runs once when it is created, and again (as a new task) when its triggers or anything else of it changes. The
 * service forgets tasks after a while; that is no reason to run one again, so the state stays.
 */
export const task: Resource<Client> = {
  schema: {
    description:
      "Runs a task on a delegate, once; again whenever `triggers` or anything else of it changes. Destroying it cancels it if it still runs, and undoes nothing.",
    attributes,
  },
  validate: async (config, diagnostics) => {
    checkScope(config, diagnostics);
    const [kind, params] = [stringField(config, "kind"), jsonField(config, "params")];
    if (kind === undefined || params === undefined) return;
    const { paramFaults } = await import("../../openapi/rules/forms.ts");
    const faults = paramFaults(kind, params).map(({ pointer, detail }) => ({ pointer: `/params${pointer}`, detail }));
    reportFaults(faults, attributes, diagnostics);
  },
  create: async ({ planned }, context) => {
    const client = await context.client();
    const action = `Running ${stringField(planned, "kind")}`;
    const limit: Limit = { deadline: Date.now() + patience(planned), signal: context.signal };
    const made = await client.call<Task>("POST", `/v1/tasks${scopeOf(planned)}`, limit, toSpec(request, planned), {
      "idempotency-key": randomUUID(),
    });
    if (!made.ok) {
      report(context.diagnostics, action, made.problem, attributes);
      return null;
    }
    context.checkpoint(stateOf(made.body, planned));
    if (planned.get("wait") !== true) return stateOf(made.body, planned);
    return settle(client, made.body, planned, limit, context, { action, created: true });
  },
  plan: ({ prior, planned }, { private: kept }) => {
    if (!prior || !kept.has(UNENDED)) return planned;
    if (planned.get("wait") !== true) {
      kept.delete(UNENDED);
      return planned;
    }
    return new Map([...planned, ["state", unknown], ["reason", unknown], ["outputs", unknown]]);
  },
  read: async (state, context) => {
    const client = await context.client();
    const found = await client.call<Task>("GET", pathOf(state), {
      deadline: Date.now() + 60_000,
      signal: context.signal,
    });
    if (found.ok) {
      if (found.body.state === "Succeeded") context.private.delete(UNENDED);
      return stateOf(found.body, state);
    }
    if (found.status !== 404)
      report(context.diagnostics, `Reading task ${stringField(state, "id")}`, found.problem, attributes);
    return state;
  },
  // Everything that is not replaced steers the provider only; but a task that was not waited for long enough is waited for again.
  update: async ({ prior, planned }, context) => {
    if (!context.private.has(UNENDED)) return planned;
    const client = await context.client();
    const action = `Waiting for task ${stringField(prior, "id")}`;
    const limit: Limit = { deadline: Date.now() + patience(planned), signal: context.signal };
    const found = await client.call<Task>("GET", pathOf(prior), limit);
    if (found.ok) return settle(client, found.body, planned, limit, context, { action, created: false });
    report(context.diagnostics, action, found.problem, attributes);
    return prior;
  },
  delete: async (state, context) => {
    if (state.get("cancel_on_destroy") !== true || ENDED.has(stringField(state, "state") as Task["state"])) return;
    const client = await context.client();
    const reply = await client.call("POST", pathOf(state, "/cancel"), {
      deadline: Date.now() + 60_000,
      signal: context.signal,
    });
    if (!reply.ok && reply.status !== 404)
      report(context.diagnostics, `Cancelling task ${stringField(state, "id")}`, reply.problem, attributes);
  },
};

/** A JSON text that is known and can be read; the schema refuses the others. */
function jsonField(config: ValueMap, name: string): unknown {
  try {
    return JSON.parse(stringField(config, name) ?? "");
  } catch {
    return undefined;
  }
}

/**
 * Waits until a task has ended. A creation that only takes longer succeeds with a warning: Terraform would cancel the task and run another one
 * if it failed. The next apply waits again.
 */
async function settle(
  client: Client,
  made: Task,
  planned: ValueMap,
  limit: Limit,
  context: ApplyContext<Client>,
  { action, created }: { action: string; created: boolean },
): Promise<Value> {
  const { diagnostics, private: kept } = context;
  const ended = await waitForEnd(client, made, planned, limit, context).catch((error: unknown): Reply<Task> => {
    if (!created || !context.signal.aborted) throw error;
    return { ok: true, status: 200, body: made, repeated: false };
  });
  const { state } = ended.ok ? ended.body : made;
  if (!ENDED.has(state) && created) {
    kept.set(UNENDED, true);
    diagnostics.warning(
      `${action}: not ended yet`,
      `Task ${made.id} is ${waitsFor(ended.ok ? ended.body : made)}. It goes on, and the next apply waits for it again. Give it longer with \`timeouts\`.`,
    );
  } else if (!ended.ok) report(diagnostics, action, ended.problem, attributes);
  else if (!ENDED.has(state))
    diagnostics.error(
      `${action}: out of time`,
      `Task ${made.id} is ${waitsFor(ended.body)}. It goes on; give it longer with \`timeouts\`.`,
    );
  else if (state === "Succeeded") kept.delete(UNENDED);
  else {
    const lines = await lastLines(client, ended.body, planned, limit);
    diagnostics.error(
      `${action}: task ${made.id} ended as ${state}`,
      [
        ended.body.message ?? ended.body.reason ?? "It gave no reason.",
        ...(lines ? ["", "The end of its log:", lines] : []),
      ].join("\n"),
    );
  }
  return stateOf(ended.ok ? ended.body : made, planned);
}

function stateOf(found: Task, prior: ValueMap): ValueMap {
  const out: ValueMap = new Map<string, Value>();
  for (const [name, a] of Object.entries(attributes)) out.set(name, prior.get(name) ?? defaultOf(a) ?? null);
  // A task never changes, so its request is what was planned; the service also shows omitted fields, as an empty list.
  for (const [name, value] of fromSpec(request, found, prior))
    if (out.get(name) instanceof Unknown) out.set(name, value);
  const { id, state, reason, outputs } = found;
  return out
    .set("id", id)
    .set("state", state)
    .set("reason", reason ?? null)
    .set("outputs", text(JSON.stringify(outputs ?? {})));
}

async function waitForEnd(
  client: Client,
  first: Task,
  planned: ValueMap,
  limit: Limit,
  context: ApplyContext<Client>,
): Promise<Reply<Task>> {
  const started = Date.now();
  const path = `/v1/tasks/${first.id}${scopeOf(planned)}`;
  let said = "";
  let pauseFor = POLL_MS.first;
  let last: Reply<Task> = { ok: true, status: 200, body: first, repeated: false };
  while (last.ok && !ENDED.has(last.body.state) && Date.now() + pauseFor < limit.deadline) {
    const says = waitsFor(last.body);
    if (says !== said) context.log("info", `task ${first.id}: ${says} (${printDuration(Date.now() - started)})`);
    said = says;
    await pause(pauseFor, limit.signal);
    pauseFor = Math.min(POLL_MS.most, pauseFor * 1.3);
    last = await client.call<Task>("GET", path, limit);
  }
  return last;
}

function waitsFor({ state, message, explanation, attempts }: Task): string {
  if (state === "Running") return `running on ${attempts.at(-1)?.worker ?? "a delegate"}`;
  const reasons = (explanation ?? []).map(({ worker, reason }) => `${worker}: ${reason}`).slice(0, 5);
  return `queued: ${reasons.join("; ") || message || "waiting for a delegate"}`;
}

/** The end of a log, or nothing if it cannot be read: the task's own message is what matters. */
async function lastLines(client: Client, found: Task, planned: ValueMap, limit: Limit): Promise<string> {
  const short: Limit = { deadline: Math.min(limit.deadline, Date.now() + 20_000), signal: limit.signal };
  const kept: string[] = [];
  let after = 0;
  for (;;) {
    const search = scopeOf(planned, { after: String(after) });
    const page = await client.call<components["schemas"]["TaskLog"]>(
      "GET",
      `/v1/tasks/${found.id}/logs${search}`,
      short,
    );
    if (!page.ok || page.body.items.length === 0) break;
    kept.push(...page.body.items.map((line) => line.text));
    kept.splice(0, kept.length - LOG_LINES);
    after = page.body.items.at(-1)!.seq;
    if (page.body.complete) break;
  }
  return kept.join("\n");
}

function patience(planned: ValueMap): number {
  const given = stringField(field(planned, "timeouts"), "create");
  const number = (name: string, preset: number) => Number(planned.get(name) ?? preset) * 1_000;
  const attempts = Number(planned.get("max_attempts") ?? 1);
  return (
    (given && parseDuration(given)) ||
    Math.min(number("queue_timeout_seconds", 86_400) + attempts * number("timeout_seconds", 600) + MARGIN_MS, 3_600_000)
  );
}

const pathOf = (state: ValueMap, action = "") => `/v1/tasks/${stringField(state, "id")}${action}${scopeOf(state)}`;

function scopeOf(value: ValueMap, more: Record<string, string> = {}): string {
  const given = ["org", "project"].flatMap((name): [string, string][] => {
    const found = stringField(value, name);
    return found ? [[name, found]] : [];
  });
  const search = new URLSearchParams([...given, ...Object.entries(more)]).toString();
  return search ? `?${search}` : "";
}
