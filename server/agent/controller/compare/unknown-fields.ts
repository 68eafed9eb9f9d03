import { digest } from "../../../base/json/canonical.ts";
import type { Failure, Outcome } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import type { KubeObject } from "../../../kube/object.ts";
import { syncOption } from "../order.ts";
import type { CompareTarget } from "./normalise.ts";

// An answer names all unknown fields; after they are removed the next may name fields below them.
const TRIES = 3;
const NAMED = /(?:^|[\s;:])((?:\.|\[)\S.*?): field not declared in schema/gm;

/** Whether unknown fields are tolerated, for example because a CRD is older than the manifests in Git. */
export const isLenient = (object: KubeObject, options: readonly string[]): boolean =>
  syncOption("Validate", object, options) === "false";

/**
 * Sends a target, where it says `Validate=false` once more without the very fields that the API server has refused because their kind does
 * not have them: server-side apply refuses them whatever it is asked to validate, where a plain write drops them. What is left is what is
 * compared from then on.
 */
export async function withoutUnknownFields<T>(
  target: CompareTarget,
  options: readonly string[],
  send: () => Promise<Outcome<T>>,
): Promise<Outcome<T>> {
  const lenient = isLenient(target.object, options);
  // The same answer as before.
  if (!lenient && target.whole) Object.assign(target, target.whole, { whole: undefined, undeclared: undefined });
  for (let tries = 1; ; tries++) {
    const sent = await send();
    if (sent.kind === "done" || !lenient || tries === TRIES || !leaveOut(target, sent)) return sent;
  }
}

/** False when it was refused for something else. */
export function leaveOut(target: CompareTarget, { reason, message }: Failure): boolean {
  if (reason !== KUBE.invalid) return false;
  const object = structuredClone(target.object);
  const left = [...message.matchAll(NAMED)].map(([, path]) => path!).filter((path) => remove(object, path));
  if (!left.length) return false;
  const whole = target.whole ?? { object: target.object, digest: target.digest };
  Object.assign(target, {
    object,
    digest: digest(object),
    whole,
    undeclared: [...(target.undeclared ?? []), ...left].sort(),
  });
  return true;
}

/** Removes what a path names, as `.spec.containers[name="web"].color`; a name may have dots in it, so the object is followed along. */
function remove(node: unknown, path: string): boolean {
  if (Array.isArray(node)) {
    const [step, inside] = /^\[((?:"(?:[^"\\]|\\.)*"|[^"\]])*)\]/.exec(path) ?? [];
    const item = step === undefined ? undefined : node.find((one, i) => isItem(one, i, inside!));
    return item !== undefined && remove(item, path.slice(step!.length));
  }
  if (typeof node !== "object" || node === null || !path.startsWith(".")) return false;
  const map = node as Record<string, unknown>;
  const rest = path.slice(1);
  if (Object.hasOwn(map, rest)) return delete map[rest];
  const names = Object.keys(map).filter((name) => rest.startsWith(`${name}.`) || rest.startsWith(`${name}[`));
  return names.sort((a, b) => b.length - a.length).some((name) => remove(map[name], rest.slice(name.length)));
}

/** An item is named by where it is, or by its keys; one of them may be a default that it does not name. */
function isItem(item: unknown, at: number, inside: string): boolean {
  if (/^\d+$/.test(inside)) return at === Number(inside);
  if (typeof item !== "object" || item === null) return false;
  const keys = [...inside.matchAll(/([^=,]+)=("(?:[^"\\]|\\.)*"|[^,]+)/g)];
  const values = item as Record<string, unknown>;
  return (
    keys.length > 0 &&
    keys.every(([, key, value]) => values[key!] === undefined || JSON.stringify(values[key!]) === value)
  );
}
