/** An error at one place of a spec. The pointer begins at the spec itself: `/syncPolicy/syncOptions/0`. */
export interface Fault {
  pointer: string;
  detail: string;
}

export type Json = Record<string, unknown>;
/** The error of a text; undefined when there is none. */
export type Check = (text: string) => string | undefined;

export const isObject = (value: unknown): value is Json =>
  value !== null && typeof value === "object" && !Array.isArray(value);
export const isText = (value: unknown): value is string => typeof value === "string";
export const objectIn = (of: unknown, name: string): Json =>
  isObject(of) && isObject(of[name]) ? (of[name] as Json) : {};
const arrayIn = (of: unknown, name: string): unknown[] =>
  isObject(of) && Array.isArray(of[name]) ? (of[name] as unknown[]) : [];

/** One step of a pointer. */
export const step = (name: string | number): string => `/${String(name).replaceAll("~", "~0").replaceAll("/", "~1")}`;

/** The objects of a list, with the pointer of each. The schema refuses other shapes. */
export function objectsIn(of: unknown, name: string, at: string): [Json, string][] {
  return arrayIn(of, name).flatMap((one, i): [Json, string][] => (isObject(one) ? [[one, `${at}/${name}/${i}`]] : []));
}

/** Checks a text field where it is given. */
export function textFault(of: unknown, name: string, at: string, check: Check): Fault[] {
  const text = isObject(of) ? of[name] : undefined;
  const detail = isText(text) ? check(text) : undefined;
  return detail === undefined ? [] : [{ pointer: `${at}${step(name)}`, detail }];
}

/** Checks each text of a list. */
export function textFaults(of: unknown, name: string, at: string, check: Check): Fault[] {
  return arrayIn(of, name).flatMap((text, i) => {
    const detail = isText(text) ? check(text) : undefined;
    return detail === undefined ? [] : [{ pointer: `${at}${step(name)}/${i}`, detail }];
  });
}

/** A text in a message: short, in quotes. */
export const quoted = (text: string): string => JSON.stringify(text.length > 64 ? `${text.slice(0, 61)}...` : text);
