import { validateApplicationLogLine, validateApplicationLogOpen } from "../../../../openapi/contract/validators.js";
import { tryParseDuration } from "../../../base/lang/duration.ts";
import { nameOf, stillValid } from "../../access/authenticate.ts";
import { Problem } from "../../domain/problem.ts";
import { addAudit } from "../../store/audit.ts";
import { type Line, linesOf } from "../../tasks/questions/log-stream.ts";
import type { TaskRow } from "../../tasks/rows.ts";
import { questionParams, requireAgentOf } from "../ask.ts";
import { EventStream } from "../http/stream.ts";
import { findObject } from "../nouns/find.ts";
import type { Services } from "../services.ts";
import type { Call, Handler } from "../typed.ts";
import { acceptedLine } from "../write.ts";

const CHECK_MS = 3_000;
const BEAT_MS = 10_000;

type Lines = AsyncGenerator<Line[], TaskRow | undefined>;

/**
 * What an application's Pods write, as the agent reads it. It passes through and is kept nowhere; who has asked for it is in the audit trail,
 * because no line is removed from it.
 */
export const getApplicationLogs =
  (s: Services): Handler<"getApplicationLogs"> =>
  async (call) => {
    const {
      kind,
      name,
      tail = 100,
      since,
      previous = false,
      follow = false,
      timeoutSeconds = 600,
      ...rest
    } = call.query;
    if ((kind === undefined) !== (name === undefined))
      throw new Problem(
        "invalid_request",
        "`kind` and `name` name one object together; without both it is all Pods of the application.",
      );
    const { container, group, version, namespace } = rest;
    const app = await findObject(s.db, "applications", call.scope, call.params.id);
    const agent = await requireAgentOf(s.db, app);
    const resource = kind === undefined ? undefined : { group, version, kind, namespace, name };
    const wanted = {
      resource,
      container,
      tail,
      previous,
      follow,
      since: since === undefined ? undefined : Math.max(1, Math.ceil(tryParseDuration(since)! / 1_000)),
    };
    const params = { ...(await questionParams(s.db, app)), ...(JSON.parse(JSON.stringify(wanted)) as object) };
    const leave = s.questions.take(agent, nameOf(call.caller), call.scope);
    try {
      await addAudit(s.db, acceptedLine(call));
      const lines = linesOf(s.db, agent, { kind: "application.logs", params, seconds: timeoutSeconds }, call.signal);
      const first = await opened(lines);
      return { status: 200, stream: (res) => tell(s, call, new EventStream(res), first, lines).finally(leave) };
    } catch (error) {
      leave();
      throw error;
    }
  };

/** The first lines; without any, the reason becomes the answer's status. */
async function opened(lines: Lines): Promise<Line[]> {
  for (;;) {
    const next = await lines.next();
    if (next.done)
      throw new Problem(
        "agent_refused",
        next.value?.message ?? "The agent ended without an answer; it may be older than the service.",
      );
    if (next.value.length > 0) return next.value;
  }
}

async function tell(
  s: Services,
  call: Call<"getApplicationLogs">,
  out: EventStream,
  first: Line[],
  lines: Lines,
): Promise<void> {
  s.metrics.watchers.inc();
  let [checked, spoken] = [Date.now(), Date.now()];
  try {
    await write(out, first);
    for (;;) {
      const next = await lines.next();
      if (next.done) {
        const { state, reason, message } = next.value ?? {};
        await out.event(
          undefined,
          "end",
          state === "Succeeded" ? {} : { reason: reason ?? state ?? "Ended", message: message ?? "" },
        );
        return;
      }
      await write(out, next.value);
      if (next.value.length > 0) spoken = Date.now();
      if (out.gone || call.signal.aborted) return;
      if (Date.now() - checked >= CHECK_MS) {
        if (!(await stillValid(s.db, call.caller!))) return;
        checked = Date.now();
      }
      if (Date.now() - spoken >= BEAT_MS) {
        await out.comment("beat");
        spoken = Date.now();
      }
    }
  } finally {
    await lines.return(undefined);
    s.metrics.watchers.dec();
    out.end();
  }
}

/** Each in the contract's form; other lines of an agent are passed on unchanged. */
async function write(out: EventStream, lines: readonly Line[]): Promise<void> {
  for (const { stream, text } of lines) {
    const value = parsed(text);
    if (stream !== "system" && validateApplicationLogLine(value)) await out.event(undefined, "line", value);
    else if (stream === "system" && validateApplicationLogOpen(value)) await out.event(undefined, "open", value);
    else await out.event(undefined, "note", { text });
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
