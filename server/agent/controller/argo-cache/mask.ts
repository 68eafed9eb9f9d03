import { readJson } from "../../../base/json/nesting.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { LAST_APPLIED } from "../compare/last-applied.ts";

const HIDDEN = "++++++++";
const MORE = "++++";

type State = KubeObject | undefined;
type Values = Record<string, unknown>;

/**
 * Copies of the states of one Secret in which no value can be read: for each key the first value becomes eight plus signs, each different
 * one four more. Equal values look equal in all states, different ones different. The wanted state goes first, then the live one.
 */
export function hideSecrets(states: readonly State[], hiddenAnnotations: readonly string[] = []): State[] {
  const copies = states.map((state) => state && encodedData(structuredClone(state)));
  const applied = copies.map((copy) => (copy ? lastApplied(copy) : undefined));
  const all = [...copies, ...applied.map((one) => (one === "unreadable" ? undefined : one))].filter(
    (one) => one !== undefined,
  );

  hide(all.map(({ data }) => data as unknown));
  const annotations = all.map(({ metadata }) => metadata?.annotations as unknown);
  hide(annotations, new Set(hiddenAnnotations));

  for (const [i, copy] of copies.entries()) {
    const one = applied[i];
    if (!copy || !one) continue;
    // An object that cannot be read may still hold the values.
    const whole = one === "unreadable" || hiddenAnnotations.includes(LAST_APPLIED);
    copy.metadata.annotations = { ...copy.metadata.annotations, [LAST_APPLIED]: whole ? HIDDEN : JSON.stringify(one) };
  }
  return copies;
}

/** Replaces the values in place, key by key. */
function hide(maps: readonly unknown[], only?: ReadonlySet<string>): void {
  const given = maps.filter(isMap);
  const keys = new Set(given.flatMap((map) => Object.keys(map)).filter((key) => !only || only.has(key)));
  for (const key of keys) {
    const shown = new Map<string, string>();
    for (const map of given) {
      if (!Object.hasOwn(map, key)) continue;
      const value = map[key] === null || map[key] === undefined ? "" : String(map[key]);
      const replacement = shown.get(value) ?? HIDDEN + MORE.repeat(shown.size);
      shown.set(value, replacement);
      map[key] = replacement;
    }
  }
}

/** As the API server stores it: `stringData` becomes `data`. */
function encodedData(secret: KubeObject): KubeObject {
  const { stringData, ...rest } = secret;
  // Not a map: the API server refuses it, but it may still hold a secret value.
  if (rest.data !== undefined && rest.data !== null && !isMap(rest.data)) rest.data = HIDDEN;
  if (!isMap(stringData)) return (stringData ? { ...rest, stringData: HIDDEN } : rest) as KubeObject;
  const encoded = Object.entries(stringData).map(([key, value]) => [
    key,
    typeof value === "string" ? Buffer.from(value).toString("base64") : value,
  ]);
  return { ...rest, data: { ...(isMap(rest.data) ? rest.data : {}), ...Object.fromEntries(encoded) } } as KubeObject;
}

function lastApplied(object: KubeObject): KubeObject | "unreadable" | undefined {
  const text = object.metadata.annotations?.[LAST_APPLIED];
  if (text === undefined) return undefined;
  try {
    const found: unknown = readJson(text);
    return isMap(found) ? encodedData(found as KubeObject) : "unreadable";
  } catch {
    return "unreadable";
  }
}

const isMap = (value: unknown): value is Values => typeof value === "object" && value !== null && !Array.isArray(value);
