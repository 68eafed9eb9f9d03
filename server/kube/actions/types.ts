import type { KubeObject } from "../object.ts";

/** Constants of what keeps an action from running. */
export const ACTION = {
  unknown: "ActionUnknown",
  invalid: "ActionParameterInvalid",
  script: "ActionScriptFailed",
} as const;

export type Parameters = Readonly<Record<string, string | undefined>>;

/** What running an action asks of the cluster: change the object itself, or create others. */
export type Effect = { kind: "change"; object: KubeObject } | { kind: "create"; objects: KubeObject[] };
/** The error of the parameters, in words. */
export class Refusal {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}

/** Gets a copy of its own and may write into it; returning nothing means the copy. */
export type Run = (
  object: KubeObject,
  context: { parameters: Parameters; now: Date },
) => KubeObject[] | Refusal | undefined;

export interface Action {
  name: string;
  /** Not listed at all for an object for which this is false. */
  offered?(object: KubeObject): boolean;
  disabled?(object: KubeObject): boolean;
  /** Names and defaults of its parameters. */
  parameters?(object: KubeObject): { name: string; default: string }[];
  run: Run;
}

/** What a person may do with an object now. */
export interface Offer {
  name: string;
  disabled: boolean;
  parameters?: { name: string; default: string }[];
}

/** `2026-01-31T12:00:00Z`, as Kubernetes writes times. */
export const timestamp = (now: Date): string => now.toISOString().replace(/\.\d+/, "");

/** Writes one value deep inside, with the objects on the way made as needed; undefined removes the field. */
export function write(object: KubeObject, path: readonly string[], value: unknown): undefined {
  let at = object as Record<string, unknown>;
  for (const step of path.slice(0, -1)) {
    const absent = typeof at[step] !== "object" || at[step] === null;
    if (absent && value === undefined) return undefined;
    if (absent) at[step] = {};
    at = at[step] as Record<string, unknown>;
  }
  const last = path.at(-1)!;
  if (value === undefined) delete at[last];
  else at[last] = value;
  return undefined;
}

/** An action that writes fixed values. */
export const set =
  (...writes: [path: readonly string[], value: unknown][]): Run =>
  (object) => {
    for (const [path, value] of writes) write(object, path, value);
    return undefined;
  };

/** An action that writes the time, which makes a controller look again. */
export const touch =
  (path: readonly string[], text: (now: string) => string = (now) => now): Run =>
  (object, { now }) =>
    write(object, path, text(timestamp(now)));

export const annotation = (name: string): string[] => ["metadata", "annotations", name];
export const annotationOf = ({ metadata }: KubeObject, name: string): string | undefined =>
  metadata.annotations?.[name];

/** A whole number that is not negative, from a parameter. */
export function count(parameters: Parameters, name: string): number | Refusal {
  const text = parameters[name];
  if (text === undefined) return new Refusal(`${name} parameter is required`);
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (!Number.isInteger(value) || value < 0) return new Refusal(`invalid number: ${text}`);
  return value;
}
