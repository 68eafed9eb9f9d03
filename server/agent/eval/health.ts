import { readDocuments } from "../../base/json/nesting.ts";
import { done, type Outcome, stop } from "../../base/outcome.ts";
import { noCustomizations, readCustomizations } from "../../kube/health/custom.ts";
import { Judge } from "../../kube/health/judge.ts";
import { describe, type KubeObject } from "../../kube/object.ts";

export interface Judged {
  /** `apps/Deployment guestbook/ui`. */
  object: string;
  /** Both null when the kind has no check. */
  status: string | null;
  message: string | null;
}

/**
 * The health of every object in a text, in its order, as the controller would judge it. `custom` is the text of the ConfigMap with
 * checks of the user's own, or only its data; what it holds that cannot be read is an error, as a person asked for it.
 */
export async function judgeText(
  text: string,
  file: string,
  custom?: { text: string; file: string },
): Promise<Outcome<Judged[]>> {
  const objects = objectsOf(text, file);
  if (objects.kind !== "done") return objects;
  const scripts = custom ? readCustom(custom.text, custom.file) : done(noCustomizations());
  if (scripts.kind !== "done") return scripts;
  const judge = new Judge();
  judge.replace(scripts.value);
  try {
    await judge.prepare([objects.value]);
    return done(
      objects.value.map((object) => {
        const { status = null, message } = judge.of(object) ?? {};
        return { object: describe(object), status, message: status === null ? null : (message ?? "") };
      }),
    );
  } finally {
    await judge.close();
  }
}

const INVALID = "InputInvalid";

function readCustom(text: string, file: string) {
  const values = documents(text, file);
  if (values.kind !== "done") return values;
  const first = values.value[0] as { data?: object } | undefined;
  const found = readCustomizations({ ...(first?.data ?? first) });
  return found.problems.length ? stop(INVALID, `${file}: ${found.problems.join("; ")}`) : done(found);
}

/** Lists are opened; a name is not needed to be judged. */
function objectsOf(text: string, file: string): Outcome<KubeObject[]> {
  const values = documents(text, file);
  if (values.kind !== "done") return values;
  const objects: KubeObject[] = [];
  for (const value of values.value.flatMap((one) => (isList(one) ? one.items : [one]))) {
    const { apiVersion, kind, metadata } = (value ?? {}) as Partial<KubeObject>;
    if (typeof apiVersion !== "string" || typeof kind !== "string")
      return stop(
        INVALID,
        `${file}: an object needs apiVersion and kind; give it as \`kubectl get -o yaml\` writes it`,
      );
    objects.push({ ...(value as KubeObject), metadata: { ...metadata, name: metadata?.name ?? "" } });
  }
  return objects.length ? done(objects) : stop(INVALID, `${file} holds no object`);
}

const isList = (value: unknown): value is { items: unknown[] } =>
  Array.isArray((value as { items?: unknown } | null)?.items) &&
  String((value as { kind?: unknown }).kind ?? "List").endsWith("List");

function documents(text: string, file: string): Outcome<unknown[]> {
  try {
    const values: unknown[] = [];
    for (const document of readDocuments(text, { uniqueKeys: false, logLevel: "silent" })) {
      if (document.errors[0]) return stop(INVALID, `${file}: ${document.errors[0].message.split("\n")[0]}`);
      const value = document.toJS({ maxAliasCount: 200 });
      if (value !== null && value !== undefined) values.push(value);
    }
    return done(values);
  } catch (error) {
    return stop(INVALID, `${file}: ${(error as Error).message}`);
  }
}
