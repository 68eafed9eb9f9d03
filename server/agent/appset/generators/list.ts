import { done, type Outcome, stop } from "../../../base/outcome.ts";
import type { Params } from "../parameters/params.ts";
import { readYaml } from "../template/sprig/encode.ts";
import { fromJson, isMap, TemplateError } from "../template/value.ts";
import { APPSET } from "../types.ts";
import type { Generate } from "./context.ts";

/** `list`: the elements themselves, and those of a text in YAML. */
export const list: Generate = async ({ elements = [], elementsYaml }, { how }) => {
  const params: Params[] = [];
  for (const element of elements as unknown[]) {
    const read = fromJson(element);
    if (!isMap(read)) return invalid("error unmarshling list element: it is not an object");
    if (how.goTemplate) {
      params.push(read);
      continue;
    }
    const flat = texts(read);
    if (flat.kind !== "done") return flat;
    params.push(flat.value);
  }
  if (elementsYaml) {
    const more = readMore(String(elementsYaml));
    if (more.kind !== "done") return more;
    params.push(...more.value);
  }
  return done(params);
};

function texts(element: Params): Outcome<Params> {
  const flat: Params = new Map();
  for (const [key, value] of element) {
    if (key === "values") {
      if (!isMap(value)) return invalid("error parsing values map");
      for (const [name, one] of value) {
        if (typeof one !== "string") return invalid(`error parsing value as string: values.${name} of a list element`);
        flat.set(`values.${name}`, one);
      }
    } else {
      if (typeof value !== "string")
        return invalid(`error parsing value as string: ${key} of a list element; goTemplate takes other values, too`);
      flat.set(key, value);
    }
  }
  return done(flat);
}

function readMore(text: string): Outcome<Params[]> {
  try {
    const read = fromJson(readYaml(text) ?? []);
    if (Array.isArray(read) && read.every(isMap)) return done(read as Params[]);
    return invalid("error unmarshling decoded ElementsYaml: it is not a list of objects");
  } catch (error) {
    if (error instanceof TemplateError) return invalid(`error unmarshling decoded ElementsYaml: ${error.message}`);
    throw error;
  }
}

const invalid = (why: string) => stop(APPSET.params, why);
