import type { Attribute, Attributes } from "../schema/attribute.ts";
import { attributesOf } from "./attribute.ts";
import type { Contract } from "./noun.ts";

/** Of a summary, what says nothing in a plan: both change whenever an agent reports. */
const RESTLESS = ["version", "updated_at"];

/** What every data source that lists has, whichever the noun. */
export function listingOf({ components: { schemas, parameters } }: Contract): Attributes {
  const { filter, sort } = parameters;
  const fields = sort!.schema.enum!;
  const all = Object.entries(attributesOf(schemas, schemas.Summary!, true));
  const items = Object.fromEntries(all.filter(([name]) => !RESTLESS.includes(name)));
  const { origin } = attributesOf(schemas, { properties: { origin: schemas.Origin! } }, true);
  const names = fields.filter((field) => !field.startsWith("-")).map((field) => `\`${field}\``);
  return {
    inherited: { type: "bool", presence: "optional", description: "Also list those of the scopes below this one." },
    filter: argument(filter!.description!, { maxLength: filter!.schema.maxLength! }),
    sort: argument(
      `Field to order by, in the API's spelling: ${names.join(", ")}. \`-\` before it turns the order round. Objects without the field come first.`,
      { enum: fields },
    ),
    ids: {
      type: ["list", "string"],
      presence: "computed",
      description: "The ids, in the same order. With `inherited`, scopes may have equal ones.",
    },
    items: {
      nesting: "list",
      presence: "computed",
      description: "The objects in short. What the noun or the object does not have is null.",
      attributes: { ...items, origin: origin! },
    },
  };
}

const argument = (description: string, rules: Attribute["rules"]): Attribute => ({
  type: "string",
  presence: "optional",
  description,
  ...(rules ? { rules } : {}),
});
