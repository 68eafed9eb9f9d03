import type { Diagnostic } from "../schema/diagnostics.ts";
import { fromJson, type Json, parseJson } from "../value/json.ts";
import { decode, encode } from "../value/msgpack.ts";
import { type Path, print } from "../value/path.ts";
import type { Type } from "../value/type.ts";
import { isMap, type Value, type ValueMap } from "../value/value.ts";
import type { Message } from "./messages.ts";
import type { PrivateState } from "./provider.ts";

/** A value out of a message: msgpack, or JSON from old callers; nothing at all is null. */
export function valueIn(type: Type, message: Message<"DynamicValue"> | undefined): Value {
  if (message?.msgpack && message.msgpack.length > 0) return decode(type, message.msgpack);
  if (message?.json && message.json.length > 0) return fromJson(type, parseJson(message.json.toString("utf8")));
  return null;
}

/** The object in a message; it must be there. */
export function objectIn(type: Type, message: Message<"DynamicValue"> | undefined): ValueMap {
  const value = valueIn(type, message);
  if (!isMap(value)) throw new Error("an object is expected");
  return value;
}

export const messageOf = (type: Type, value: Value): Message<"DynamicValue"> => ({ msgpack: encode(type, value) });

/** Protobuf refuses text that is no valid UTF-8, and with it the whole answer. */
const utf8 = (text: string): string => Buffer.from(text).toString("utf8");

/**
 * Terraform finds the line of a top-level attribute only; a longer path makes it show the whole resource instead. So the line is that
 * of the outermost attribute, and the detail names the rest.
 */
export function diagnosticsOf(list: readonly Diagnostic[]): Message<"Diagnostic">[] {
  return list.map(({ severity, summary, detail, path = [] }) => ({
    severity: severity === "error" ? 1 : 2,
    summary: utf8(summary),
    detail: utf8(path.length > 1 && !detail.includes(print(path)) ? `${print(path)}: ${detail}` : detail),
    ...(path.length > 0 ? { attribute: pathOf(path.slice(0, 1)) } : {}),
  }));
}

export function pathOf(path: Path): Message<"AttributePath"> {
  return {
    steps: path.map((step) => {
      if ("attr" in step) return { attribute_name: step.attr };
      return "key" in step ? { element_key_string: step.key } : { element_key_int: step.index };
    }),
  };
}

/** Private state travels as a JSON object; foreign bytes are ignored. */
export function privateOf(bytes: Buffer | undefined): PrivateState {
  if (!bytes || bytes.length === 0) return new Map();
  try {
    const json = JSON.parse(bytes.toString("utf8"));
    return typeof json === "object" && json !== null && !Array.isArray(json)
      ? new Map(Object.entries(json as Record<string, Json>))
      : new Map();
  } catch {
    return new Map();
  }
}

export const privateBytes = (state: PrivateState): Buffer =>
  state.size === 0 ? Buffer.alloc(0) : Buffer.from(JSON.stringify(Object.fromEntries(state)));
