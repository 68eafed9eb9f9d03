import { colours, plain } from "../../../base/colour.ts";
import { usage } from "../../output/failure.ts";
import { type Column, field, type Json } from "../../show.ts";

const compare = new Intl.Collator("en", { numeric: true }).compare;

/**
 * Objects in the order of a column's head (`age`, `health`) or of a field's path (`status.sync.status`); with `-` in front the other way round.
 * What has no value comes last.
 */
export function sortBy(objects: readonly Json[], by: string | undefined, columns: readonly Column[]): Json[] {
  if (by === undefined) return [...objects];
  const name = by.replace(/^-/, "").replace(/^\{?\.?|\}$/g, "");
  const column = columns.find(
    ({ head }) => head.toLowerCase().replaceAll(" ", "-") === name.toLowerCase().replaceAll(" ", "-"),
  );
  if (
    !column &&
    !/^(id|org|project|origin|version|generation|createdAt|updatedAt|(spec|status|owner|live)\..+)$/.test(name)
  )
    throw usage(
      `--sort-by takes ${columns.map(({ head }) => head.toLowerCase().replaceAll(" ", "-")).join(", ")}, or a path such as createdAt`,
    );
  const path = column ? column.path : name;
  const none = colours(false);
  const value = (o: Json) => (path ? field(o, path) : plain(column!.text(o, none)).replace(/^-$/, ""));
  const order = by.startsWith("-") ? -1 : 1;
  return objects
    .map((object) => ({ object, value: value(object) }))
    .sort((a, b) => (a.value && b.value ? order * compare(a.value, b.value) : Number(!a.value) - Number(!b.value)))
    .map(({ object }) => object);
}
