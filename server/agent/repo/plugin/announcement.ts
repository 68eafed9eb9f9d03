import { bytes, fields, flagField, text } from "./wire.ts";

/** A parameter that a plugin takes, for user interfaces: `repository.ParameterAnnouncement` of Argo CD. */
export interface Announcement {
  name: string;
  title?: string;
  tooltip?: string;
  required?: boolean;
  itemType?: string;
  collectionType?: string;
  string?: string;
  array?: string[];
  map?: Record<string, string>;
}

const TEXTS: [number, "name" | "title" | "tooltip" | "itemType" | "collectionType" | "string"][] = [
  [1, "name"],
  [2, "title"],
  [3, "tooltip"],
  [5, "itemType"],
  [6, "collectionType"],
  [7, "string"],
];
const [REQUIRED, ARRAY, MAP] = [4, 8, 9];
const MAX = 1_000;

export function encodeAnnouncements(all: readonly Announcement[]): Buffer {
  const one = (given: Announcement) =>
    Buffer.concat([
      ...TEXTS.flatMap(([field, name]) => (given[name] === undefined ? [] : [text(field, given[name])])),
      ...(given.required ? [flagField(REQUIRED)] : []),
      ...(given.array ?? []).map((value) => bytes(ARRAY, Buffer.from(value))),
      ...Object.entries(given.map ?? {}).map(([key, value]) =>
        bytes(MAP, Buffer.concat([text(1, key), text(2, value)])),
      ),
    ]);
  return Buffer.concat(all.map((given) => bytes(1, one(given))));
}

export function decodeAnnouncements(message: Buffer): Announcement[] {
  const all: Announcement[] = [];
  for (const [field, value] of fields(message)) {
    if (field !== 1 || !Buffer.isBuffer(value)) continue;
    if (all.length >= MAX) throw new Error(`more than ${MAX} parameters are announced`);
    const made: Announcement = { name: "" };
    for (const [inner, part] of fields(value)) {
      const name = TEXTS.find(([number]) => number === inner)?.[1];
      if (name) made[name] = String(part);
      else if (inner === REQUIRED) made.required = part === 1;
      else if (inner === ARRAY) made.array = [...(made.array ?? []), String(part)];
      else if (inner === MAP && Buffer.isBuffer(part)) {
        const pair = Object.fromEntries([...fields(part)].map(([number, content]) => [number, String(content)]));
        made.map = { ...made.map, [pair[1] ?? ""]: pair[2] ?? "" };
      }
    }
    all.push(made);
  }
  return all;
}

/** The parameters in a plugin's file or a command's output; throws their errors. */
export function readAnnouncements(value: unknown, at: string): Announcement[] {
  if (!Array.isArray(value) || value.length > MAX) throw new Error(`${at} must be a list of at most ${MAX} parameters`);
  return value.map((one: unknown, i) => {
    const given = (typeof one === "object" && one !== null ? one : {}) as Record<string, unknown>;
    const made: Announcement = { name: "" };
    for (const [, name] of TEXTS)
      if (given[name] !== undefined && given[name] !== null) made[name] = String(given[name]);
    if (!made.name) throw new Error(`${at}[${i}].name is required`);
    if (made.collectionType && !["string", "array", "map"].includes(made.collectionType))
      throw new Error(`${at}[${i}].collectionType must be string, array or map`);
    if (given.required === true) made.required = true;
    if (Array.isArray(given.array)) made.array = given.array.map(String);
    if (typeof given.map === "object" && given.map !== null)
      made.map = Object.fromEntries(Object.entries(given.map).map(([key, content]) => [key, String(content)]));
    return made;
  });
}
