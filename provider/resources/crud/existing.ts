import type { Client, Limit, Place, Reply, Stored } from "../../client/client.ts";
import { Diagnostics } from "../../schema/diagnostics.ts";
import { guardApply } from "../../schema/guard.ts";
import { attr, print, root } from "../../value/path.ts";
import type { ValueMap } from "../../value/value.ts";
import { printNoun, printPlace } from "../scope.ts";
import { ATTEMPTS, type ResourceKind, stateOf } from "./kind.ts";

/** Attributes named in a message. */
const SHOWN = 5;

/** An existing object in the place of a planned one, and the attributes in which the two differ. */
interface Existing {
  readonly stored: Stored;
  readonly differs: readonly string[];
}

/** A creation that was refused. */
interface Refused {
  readonly client: Client;
  readonly place: Place;
  readonly body: object;
  readonly planned: ValueMap;
  readonly limit: Limit;
}
type Found =
  | { readonly reply: Reply<Stored>; readonly taken: boolean }
  | { readonly reply?: never; readonly existing: Existing | undefined };

/**
 * What becomes of a creation whose place is taken. The object is ours when an answer got lost on the way, and when the user says that an apply
 * was killed (`OUTPOST_RECOVER`); either way only if it is exactly what was sent. Nothing else distinguishes it from one that another state holds.
 */
export async function takeExisting(kind: ResourceKind, refused: Refused, refusal: Reply<Stored>): Promise<Found> {
  const { client, place, body, limit } = refused;
  let existing = await findExisting(kind, refused);
  if (!isAsPlanned(existing)) return { existing };
  if (refusal.repeated)
    return { reply: { ok: true, status: 201, body: existing.stored, repeated: true }, taken: false };
  if (!client.recovers) return { existing };
  for (let attempt = 1; ; attempt++) {
    // The same again, as credentials cannot be compared.
    const reply = await client.put(place, body, { ifMatch: existing.stored.version }, limit);
    if (reply.ok || reply.status !== 412 || attempt === ATTEMPTS) return { reply, taken: true };
    existing = await findExisting(kind, refused);
    if (!isAsPlanned(existing)) return { existing };
  }
}

/** Undefined when it cannot be read. */
async function findExisting(
  kind: ResourceKind,
  { client, place, planned, limit }: Refused,
): Promise<Existing | undefined> {
  const found = await client.get(place, limit);
  if (!found.ok) return undefined;
  const said = new Diagnostics();
  guardApply("", kind.noun.schema, planned, stateOf(kind, found.body, planned), said);
  return { stored: found.body, differs: [...new Set(said.list.map(({ path = root }) => print(path)))] };
}

/** Whether it is exactly what was planned, and stays. */
function isAsPlanned(existing: Existing | undefined): existing is Existing {
  return existing?.differs.length === 0 && existing.stored.deletionRequestedAt === undefined;
}

/** The message about the existing object, with every way out. */
export function reportExisting(
  { noun }: ResourceKind,
  place: Place,
  existing: Existing | undefined,
  { action, diagnostics }: { action: string; diagnostics: Diagnostics },
): void {
  const id = printPlace(place);
  const ways = [
    `The ${printNoun(noun)} ${id} exists already${comparison(existing)}`,
    `To manage this very object from here, import it:\n\nimport {\n  to = ${noun.type}.NAME\n  id = "${id}"\n}`,
    "Or take it over with `adopt = true`, whatever it says now. A replacement with `create_before_destroy` needs `adopt = true`, or another `id`.",
  ];
  if (isAsPlanned(existing))
    ways.push(
      "If an apply was killed, it may have left more such objects: `OUTPOST_RECOVER=true terraform apply` takes over each object that is exactly what the configuration asks for. Do not use it while another configuration manages them.",
    );
  diagnostics.error(`${action}: it exists already`, ways.join("\n\n"), attr(root, "id"));
}

function comparison(existing: Existing | undefined): string {
  if (!existing) return ".";
  const { stored, differs } = existing;
  if (stored.deletionRequestedAt !== undefined) return " and is being deleted. Apply again when it is gone.";
  if (differs.length === 0)
    return ` and is exactly what this configuration asks for.${stored.createdAt === undefined ? "" : ` It was created at ${stored.createdAt}.`}`;
  const names = differs.slice(0, SHOWN).map((name) => `\`${name}\``);
  const more = differs.length - SHOWN;
  return ` and is not what this configuration asks for: ${names.join(", ")}${more > 0 ? ` and ${more} more` : ""} ${differs.length === 1 ? "differs" : "differ"}.`;
}
