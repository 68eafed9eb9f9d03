import type { SealedCollection } from "../../../openapi/audience.ts";
import { refusedKey } from "../../../openapi/known-agents.ts";
import type { Client, Limit, Place, Stored } from "../../client/client.ts";
import { report } from "../../client/problem.ts";
import type { Log } from "../../protocol/log.ts";
import type { Attributes } from "../../schema/attribute.ts";
import type { Diagnostics } from "../../schema/diagnostics.ts";
import { attr, root } from "../../value/path.ts";
import { isMap, stringField, type ValueMap } from "../../value/value.ts";
import { judgeEnrolled } from "../../wait/agent.ts";
import { waitFor } from "../../wait/wait.ts";
import { reportWait } from "../report.ts";
import { resolveReference } from "../scope.ts";
import { toSpec } from "../spec.ts";

interface Need {
  readonly client: Client;
  readonly attributes: Attributes;
  readonly config: ValueMap;
  /** The spec that is sent with the credentials, which are sealed for its addresses. */
  readonly spec: Readonly<Record<string, unknown>>;
  readonly place: Place;
  readonly limit: Limit;
  readonly log: Log;
  readonly diagnostics: Diagnostics;
  readonly action: string;
}

/**
 * The credentials of a configuration, sealed to the key of its agent, as fields of the spec. Waits until the agent has a key. Undefined
 * when there are none; null after an error.
 */
export async function sealCredentials(need: Need): Promise<Record<string, unknown> | undefined | null> {
  const { client, attributes, config, spec, place, limit, log, diagnostics, action } = need;
  const given = config.get("credentials") ?? null;
  if (!isMap(given)) return undefined;
  const plain = toSpec(attributes.credentials!.attributes!, given, true);
  if (Object.keys(plain).length === 0) return undefined;
  const name = stringField(config, "agent")!;
  const agent = await waitFor(client, resolveReference("agents", name, place), judgeEnrolled(name), limit, log);
  if (agent.kind !== "done") {
    reportWait(diagnostics, action, agent, attributes);
    return null;
  }
  const account = await client.account(limit);
  if (!account.ok) {
    report(diagnostics, action, account.problem, attributes);
    return null;
  }
  const { sealKey } = (agent.stored as Stored).status as { sealKey: { id: string; publicKey: string } };
  const where = resolveReference("agents", name, place);
  const offered = {
    endpoint: client.endpoint,
    account: client.keyAccount,
    org: where.org,
    project: where.project,
    agent: where.id,
  };
  const refused = refusedKey(process.env, { ...offered, publicKey: sealKey.publicKey });
  if (refused) {
    diagnostics.error(action, `The credentials are not sealed: ${refused}.`, attr(root, "agent"));
    return null;
  }
  // Loaded only where credentials are sent.
  const { seal } = await import("../../client/seal.ts");
  const collection = place.collection as SealedCollection;
  try {
    return {
      sealedCredentials: seal(
        sealKey,
        { account: account.body.account, ...place, collection },
        { spec, credentials: plain },
      ),
    };
  } catch {
    diagnostics.error(
      action,
      `The key of agent ${name} is not one that credentials can be sealed to.`,
      attr(root, "agent"),
    );
    return null;
  }
}
