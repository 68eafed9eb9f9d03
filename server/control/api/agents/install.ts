import { delegateFormats } from "../../../../modules/install/delegate.ts";
import {
  type Refused,
  refusedForAgent,
  refusedForDelegate,
  refusedForEngine,
} from "../../../../modules/install/refused.ts";
import {
  renderAgentManifest as drawManifest,
  renderAgentValues as drawValues,
} from "../../../../modules/install/render.ts";
import type { InstallValues } from "../../../../modules/install/values.ts";
import type { Schemas } from "../../domain/nouns.ts";
import { Problem } from "../../domain/problem.ts";
import type { Stored } from "../../store/objects/objects.ts";
import { findObject } from "../nouns/find.ts";
import { isGuess } from "../origin.ts";
import type { Services } from "../services.ts";
import type { Call, Handler } from "../typed.ts";
import { type WriteCall, write } from "../write.ts";
import { makeToken } from "./tokens.ts";

type InstallCall = WriteCall &
  Pick<Call<"getAgent">, "origin"> & { params: { id: string }; body?: Schemas["InstallRequest"] | undefined };
type Text = { status: 200; text: string; type: "application/yaml" | "text/plain"; headers: Record<string, string> };
interface Drawing {
  type: Text["type"];
  draw(values: InstallValues): string;
}

/**
 * A worker's installation, and with it a fresh token, whose text exists only in this answer. Without a token nothing is made, so that
 * this may be asked again and again, as plans do.
 */
async function install(
  s: Services,
  collection: "agents" | "delegates",
  call: InstallCall,
  { type, draw }: Drawing,
): Promise<Text> {
  const { withToken = true, existingSecret } = call.body ?? {};
  const answer = (object: Stored, token?: string): Text => ({
    status: 200,
    text: draw(valuesOf(s, call, object, token)),
    type,
    headers: { "Cache-Control": "no-store" },
  });
  if (!withToken || existingSecret !== undefined)
    return answer(await findObject(s.db, collection, call.scope, call.params.id));
  return write(s, call, async (w) => {
    const object = await findObject(w, collection, call.scope, call.params.id);
    // First everything that may be refused.
    valuesOf(s, call, object);
    const { text } = await makeToken(s, w, { collection, call });
    return answer(object, text);
  });
}

function refuse(refused: Refused | undefined): void {
  if (refused) throw new Problem("invalid_field", refused.why, { pointer: `/${refused.field}` });
}

function valuesOf(s: Services, call: InstallCall, object: Stored, token?: string): InstallValues {
  const { endpoint = call.origin, withToken: _, ...given } = call.body ?? {};
  if (!call.body?.endpoint && isGuess(call.origin, s.publicUrl))
    throw new Problem(
      "invalid_field",
      "The service does not know its own address. Give `endpoint`, for example https://outpost.example.com, or set OUTPOST_PUBLIC_URL where the service runs.",
      { pointer: "/endpoint" },
    );
  if (!/^https?:\/\/[!#-&(-?A-[\]-_a-~]+$/.test(endpoint))
    throw new Problem("invalid_field", "`endpoint` is an http:// or https:// address without credentials.", {
      pointer: "/endpoint",
    });
  const scope = {
    account: object.account,
    ...(object.org ? { org: object.org } : {}),
    ...(object.project ? { project: object.project } : {}),
  };
  const base = { id: object.id, ...scope, endpoint, ...(token === undefined ? {} : { token }), ...given };
  if (object.collection === "agents") {
    const { namespace, mode, engine } = object.spec;
    const values: InstallValues = { ...base, kind: "agent", namespace, mode, ...(engine ? { engine } : {}) };
    refuse(refusedForEngine(values));
    return values;
  }
  return {
    ...base,
    kind: "delegate",
    namespace: given.namespace ?? "outpost-delegate",
    tags: object.spec.tags ?? [],
    ...(object.spec.description ? { description: object.spec.description } : {}),
  };
}

const agent =
  (s: Services, what: "manifest" | "values", draw: Drawing["draw"]) =>
  async (call: InstallCall): Promise<Text & { type: "application/yaml" }> => {
    refuse(refusedForAgent(what, call.body ?? {}, call.body?.withToken ?? true));
    const { text, headers } = await install(s, "agents", call, { type: "application/yaml", draw });
    return { status: 200, text, type: "application/yaml", headers };
  };

export const renderAgentManifest = (s: Services): Handler<"renderAgentManifest"> => agent(s, "manifest", drawManifest);
export const renderAgentValues = (s: Services): Handler<"renderAgentValues"> => agent(s, "values", drawValues);
export const renderDelegateManifest =
  (s: Services): Handler<"renderDelegateManifest"> =>
  async (call) => {
    const { format = "kubernetes" } = call.query;
    const drawing = delegateFormats[format];
    refuse(
      refusedForDelegate(format, { kind: "delegate", id: call.params.id, account: "", endpoint: "", ...call.body }),
    );
    return install(s, "delegates", call, drawing);
  };
