import { keepArtifact } from "../../tasks/artifacts.ts";
import { viewArtifact } from "../../tasks/rows.ts";
import type { Services } from "../services.ts";
import type { Handler } from "../typed.ts";
import { contact, sessionOf } from "./exchange.ts";

/** Keeps a file of a task that the worker runs. */
export const putTaskArtifact =
  (s: Services): Handler<"putTaskArtifact"> =>
  async (call) => {
    const session = sessionOf(call);
    await contact(s, session);
    const { task, name } = call.params;
    const { fence, sha256 } = call.query;
    const kept = await keepArtifact(s.db, session, {
      id: task,
      name,
      fence: Number.isSafeInteger(fence) ? fence : -1,
      sha256,
      bytes: call.upload!.bytes,
      announced: call.upload!.announced,
      maxAccountBytes: s.limits.artifactBytes,
    });
    return { status: 200, body: viewArtifact(kept) };
  };
