import {
  type Fault,
  validateApplicationEvents,
  validateDiff,
  validateLiveResource,
  validateManifests,
  validateResourceTree,
  validateRevisionInfo,
} from "../../../../openapi/contract/validators.js";
import { askAgent, type Question } from "../../tasks/questions/ask.ts";
import { answerOf, asking, questionParams, requireAgentOf } from "../ask.ts";
import { findObject } from "../nouns/find.ts";
import type { Services } from "../services.ts";
import type { Call, Handler } from "../typed.ts";

type Check<T> = ((value: unknown) => value is T) & { errors?: Fault[] | null };

export const getApplicationDiff =
  (s: Services): Handler<"getApplicationDiff"> =>
  async (call) => ({ status: 200, body: await read(s, call, "application.diff", validateDiff, call.query) });

export const getApplicationManifests =
  (s: Services): Handler<"getApplicationManifests"> =>
  async (call) => ({ status: 200, body: await read(s, call, "application.manifests", validateManifests, call.query) });

export const getApplicationTree =
  (s: Services): Handler<"getApplicationTree"> =>
  async (call) => ({ status: 200, body: await read(s, call, "application.tree", validateResourceTree, {}) });

export const getApplicationResource =
  (s: Services): Handler<"getApplicationResource"> =>
  async (call) => {
    const { group, version, kind, namespace, name } = call.query;
    const resource = { group, version, kind, namespace, name };
    return { status: 200, body: await read(s, call, "application.resource", validateLiveResource, { resource }) };
  };

export const getApplicationRevision =
  (s: Services): Handler<"getApplicationRevision"> =>
  async (call) => {
    const { revision, source } = call.query;
    return {
      status: 200,
      body: await read(s, call, "application.revision", validateRevisionInfo, { revision, source }),
    };
  };

export const getApplicationEvents =
  (s: Services): Handler<"getApplicationEvents"> =>
  async (call) => {
    const { limit, group, version, kind, namespace, name } = call.query;
    const resource = { group, version, kind, namespace, name };
    return {
      status: 200,
      body: await read(s, call, "application.events", validateApplicationEvents, { limit, resource }),
    };
  };

export const getApplicationHistory =
  (s: Services): Handler<"getApplicationHistory"> =>
  async (call) => {
    const app = await findObject(s.db, "applications", call.scope, call.params.id);
    return { status: 200, body: { items: app.status.history ?? [] } };
  };

async function read<T>(
  s: Services,
  call: Pick<Call<"getApplicationDiff">, "params" | "scope" | "signal" | "caller">,
  kind: Question["kind"],
  fits: Check<T>,
  extra: Record<string, unknown>,
): Promise<T> {
  const app = await findObject(s.db, "applications", call.scope, call.params.id);
  const agent = await requireAgentOf(s.db, app);
  return asking(s, call, agent, async () => {
    const params = { ...(await questionParams(s.db, app)), ...(JSON.parse(JSON.stringify(extra)) as object) };
    return answerOf(await askAgent(s.db, agent, { kind, params }, call.signal), fits);
  });
}
