import type { Client } from "../../client/client.ts";
import { report } from "../../client/problem.ts";
import type { ApplyContext, PlannedChange } from "../../protocol/provider.ts";
import { changed, isMove } from "../../schema/plan.ts";
import { equal } from "../../value/equal.ts";
import { string } from "../../value/type.ts";
import type { Value, ValueMap } from "../../value/value.ts";
import { sealCredentials } from "../credentials/credentials.ts";
import { placeOf, printStored } from "../scope.ts";
import { toSpec } from "../spec.ts";
import { ATTEMPTS, limitOf, type ResourceKind, stateOf, taking } from "./kind.ts";
import { settle } from "./settle.ts";

type Update = PlannedChange & { prior: ValueMap };

/** Changes the object, if it is still the one of the plan. */
export async function update(
  kind: ResourceKind,
  { config, prior, planned }: Update,
  context: ApplyContext<Client>,
): Promise<Value> {
  const { noun, attributes, spec } = kind;
  // Only what steers the provider differs: there is nothing to send, and the plan knows everything.
  const takesOver = taking(kind, planned).adopt === true && prior.get("adopt") !== true;
  if (!changed(noun.schema, planned, prior) && !takesOver) return planned;
  const action = `Updating ${printStored(noun, placeOf(noun, planned))}`;
  const client = await context.client();
  const [place, limit, { diagnostics, log }] = [
    placeOf(noun, planned),
    limitOf(planned, "update", context.signal),
    context,
  ];
  const move = isMove(attributes, planned, prior);
  // Another agent cannot open credentials that are sealed to the former one.
  const renew =
    kind.hasCredentials &&
    (move || !equal(string, prior.get("credentials_version") ?? null, planned.get("credentials_version") ?? null));
  for (let attempt = 1; ; attempt++) {
    const current = await client.get(place, limit);
    if (!current.ok) {
      report(diagnostics, action, current.problem, attributes);
      return prior;
    }
    if (current.body.uid !== prior.get("uid") || current.body.generation !== Number(prior.get("generation"))) {
      diagnostics.error(
        `${action}: it has changed since the plan`,
        "Another change was made after this plan. Plan again to see it.",
      );
      return stateOf(kind, current.body, prior);
    }
    const plain = toSpec(spec, planned);
    const sealed = renew
      ? await sealCredentials({ client, attributes, config, spec: plain, place, limit, log, diagnostics, action })
      : undefined;
    if (sealed === null) return prior;
    const reply = await client.put(
      place,
      { ...plain, ...sealed },
      { ifMatch: current.body.version, move, ...taking(kind, planned) },
      limit,
    );
    if (reply.ok) return settle(kind, { client, stored: reply.body, planned, limit, action, created: false }, context);
    // The version grows with every report of the agent too; only the generation says that a person changed it.
    const again = reply.status === 412 || reply.problem.code === "credentials_key_mismatch";
    if (again && attempt < ATTEMPTS) continue;
    report(diagnostics, action, reply.problem, attributes);
    return prior;
  }
}
