import * as render from "../../../../modules/install/render.ts";
import type { Schemas } from "../../domain/nouns.ts";
import { Problem } from "../../domain/problem.ts";
import type { Stored } from "../../store/objects.ts";
import { findObject } from "../nouns/find.ts";
import type { Services } from "../services.ts";
import type { Call, Handler } from "../typed.ts";
import { type WriteCall, write } from "../write.ts";
import { makeToken } from "./tokens.ts";

type InstallCall = WriteCall & Pick<Call<"getAgent">, "origin"> & { params: { id: string }; body?: Schemas["InstallRequest"] | undefined };
type Text = { status: 200; text: string; type: "application/yaml"; headers: Record<string, string> };

/** A worker's installation with a fresh token in it; the text exists only in this answer. */
const install =
  (s: Services, collection: "agents" | "delegates", draw: (values: render.InstallValues) => string) =>
  async (call: InstallCall): Promise<Text> =>
    write(s, call, async (w) => {
      const object = await findObject(w, collection, call.scope, call.params.id);
      const { text } = await makeToken(s, w, collection, call.scope, call.params.id);
      return {
        status: 200,
        text: draw(valuesOf(s, call, object, text)),
        type: "application/yaml",
        headers: { "Cache-Control": "no-store" },
      };
    });

function valuesOf(s: Services, call: InstallCall, object: Stored, token: string): render.InstallValues {
  const { endpoint = s.publicUrl ?? call.origin, ...given } = call.body ?? {};
  if (!/^https?:\/\/[^\s@]+$/.test(endpoint))
    throw new Problem("invalid_field", "`endpoint` is an http:// or https:// address without credentials.", { pointer: "/endpoint" });
  const scope = {
    account: object.account,
    ...(object.org ? { org: object.org } : {}),
    ...(object.project ? { project: object.project } : {}),
  };
  const base = { id: object.id, ...scope, endpoint, token, ...given };
  if (object.collection === "agents") return { kind: "agent", ...base, namespace: object.spec.namespace, mode: object.spec.mode };
  return {
    kind: "delegate",
    ...base,
    namespace: "outpost-delegate",
    tags: object.spec.tags ?? [],
    ...(object.spec.description ? { description: object.spec.description } : {}),
  };
}

export const renderAgentManifest = (s: Services): Handler<"renderAgentManifest"> => install(s, "agents", render.renderAgentManifest);
export const renderAgentValues = (s: Services): Handler<"renderAgentValues"> => install(s, "agents", render.renderAgentValues);
export const renderDelegateManifest = (s: Services): Handler<"renderDelegateManifest"> =>
  install(s, "delegates", render.renderDelegateManifest);
