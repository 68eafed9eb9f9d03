import type { Client } from "../../client/client.ts";
import { report } from "../../client/problem.ts";
import type { DataSource } from "../../protocol/provider.ts";
import type { Attribute, Attributes, Schema } from "../../schema/attribute.ts";
import { objectOf } from "../../schema/type.ts";
import type { Noun } from "../noun.ts";
import { noSuch } from "../references/missing.ts";
import { placeOf, printNoun, printStored } from "../scope.ts";
import { fromSpec } from "../spec.ts";

const scope = new Set(["id", "org", "project"]);

/** The data source of a noun: found by its id, everything else is what the service says. */
export function createDataSource(noun: Noun, status?: Attribute): DataSource<Client> {
  const schema = dataSchema(noun, status);
  const { attributes } = schema;
  const spec: Attributes = Object.fromEntries(
    noun.spec.filter((name) => attributes[name]).map((name) => [name, attributes[name]!]),
  );
  return {
    schema,
    read: async (config, context) => {
      const place = placeOf(noun, config);
      const client = await context.client();
      const reply = await client.get(place, { deadline: Date.now() + 60_000, signal: context.signal });
      if (!reply.ok) {
        if (reply.status === 404)
          context.diagnostics.error(
            "Not found",
            `${await noSuch(client, printNoun(noun).replaceAll("_", " "), place, context.signal)} If this configuration creates it, refer to the resource (\`id = ${noun.type}.NAME.id\`) or name it in \`depends_on\`, so that it is read afterwards.`,
            [{ attr: "id" }],
          );
        else report(context.diagnostics, `Reading ${printStored(noun, place)}`, reply.problem, attributes);
        return null;
      }
      const stored = reply.body;
      const out = new Map([
        ...[...objectOf(attributes).fields.keys()].map((name) => [name, null] as const),
        ...fromSpec(spec, stored.spec, null),
      ]);
      for (const name of scope) if (attributes[name]) out.set(name, config.get(name) ?? null);
      out.set("uid", stored.uid);
      out.set("generation", stored.generation);
      if (attributes.status) out.set("status", fromSpec(attributes.status.attributes!, stored.status, null));
      return out;
    },
  };
}

/** All attributes computed but the id and its scope, without those that exist only in a resource's configuration. */
function dataSchema({ schema, type }: Noun, status: Attribute | undefined): Schema {
  const attributes = Object.entries({ ...schema.attributes, ...(status ? { status } : {}) })
    .filter(([, a]) => !a.writeOnly && !a.local)
    .map(([key, a]) => [key, scope.has(key) ? input(a) : computed(a)] as const);
  return {
    description: `Reads one ${type.replace(/^outpost_/, "").replaceAll("_", " ")}.`,
    attributes: Object.fromEntries(attributes),
  };
}

function input({ type, presence, description = "", rules }: Attribute): Attribute {
  return {
    type: type!,
    presence,
    description: description.replace(" Changing it replaces the object.", ""),
    ...(rules ? { rules } : {}),
  };
}

function computed(a: Attribute): Attribute {
  const { type, nesting, attributes, description, sensitive, json } = a;
  const inner =
    attributes && Object.fromEntries(Object.entries(attributes).map(([name, of]) => [name, computed(of)] as const));
  return {
    presence: "computed",
    ...(type === undefined ? {} : { type }),
    ...(nesting && inner ? { nesting, attributes: inner } : {}),
    ...(description ? { description: description.replace(" Changing it replaces the object.", "") } : {}),
    ...(sensitive ? { sensitive } : {}),
    ...(json ? { json } : {}),
    ...(a.rules?.json ? { rules: { json: a.rules.json } } : {}),
    ...(a.rules?.each?.json ? { rules: { each: { json: a.rules.each.json } } } : {}),
  };
}
