import type { Schemas } from "../../../openapi/client.ts";
import { printable } from "../../base/colour.ts";
import { EXIT, Failure, usage } from "../output/failure.ts";
import type { Api } from "../session/api.ts";
import type { Json } from "../show.ts";
import { knownKind } from "./kinds.ts";

/** One object in the cluster, as a person names it. */
export interface Named {
  group?: string;
  kind: string;
  namespace?: string;
  name: string;
}
export const RESOURCE = "[group/]Kind/[namespace/]name";
const MOST_CANDIDATES = 5;

/** `apps/Deployment/web/api`, `Service/api`, `deploy/api`, `deployment.apps/api`: group and namespace may be left out. */
export function parseResource(text: string, what = "--resource"): Named {
  const parts = text.split("/");
  const kindAt = parts.findIndex((p) => /^[A-Z]/.test(p));
  const short = kindAt < 0 ? ofKubectl(parts[0]!) : undefined;
  const rest = parts.slice(short ? 1 : kindAt + 1);
  if ((kindAt < 0 && !short) || kindAt > 1 || rest.length < 1 || rest.length > 2 || rest.some((p) => !p))
    throw usage(`${what} takes ${RESOURCE} such as Deployment/api, not ${JSON.stringify(text)}`);
  const group = kindAt > 0 ? parts[0] : short?.group;
  return {
    ...(group ? { group } : {}),
    kind: short?.kind ?? (group === undefined ? knownKind(parts[kindAt]!)?.kind : undefined) ?? parts[kindAt]!,
    ...(rest.length === 2 ? { namespace: rest[0]! } : {}),
    name: rest.at(-1)!,
  };
}

/** `deploy` and `deployment.apps`, as kubectl takes and prints them. */
function ofKubectl(word: string): { group?: string; kind: string } | undefined {
  const dot = word.indexOf(".");
  const known = knownKind(dot < 0 ? word : word.slice(0, dot));
  if (!known || (dot >= 0 && word.slice(dot + 1) !== known.group)) return undefined;
  return { kind: known.kind, ...(dot < 0 ? {} : { group: known.group }) };
}

/** What a person named, as the application has it: with its group. Fails with near candidates when it has none, or several. */
export function findResource(wanted: Named, known: readonly Json[], id: string): Named {
  const { group, kind, namespace, name } = wanted;
  const fits = known.filter(
    (one) =>
      one.kind === kind &&
      one.name === name &&
      (group === undefined || (one.group ?? "") === group) &&
      (namespace === undefined || one.namespace === namespace),
  );
  const groups = new Set(fits.map((one) => one.group ?? ""));
  if (groups.size === 1) return { ...wanted, ...([...groups][0] ? { group: [...groups][0] as string } : {}) };
  if (groups.size > 1)
    throw usage(
      `${kind} ${name} is ambiguous: application ${id} has it in the groups ${[...groups].join(", ")}; put the group in front`,
    );
  const near = [...known].sort((a, b) => nearness(b, wanted) - nearness(a, wanted)).slice(0, MOST_CANDIDATES);
  const more = known.length > near.length ? ", …" : "";
  throw new Failure(
    `application ${id} has no ${kind} ${name}; it has ${near.map((one) => printable(`${one.kind}/${one.name}`)).join(", ")}${more}`,
    EXIT.notFound,
  );
}

const nearness = (one: Json, { kind, name }: Named): number =>
  (one.kind === kind ? 2 : 0) + (one.name === name ? 1 : 0);

/** The same with its group: that of Kubernetes' own kinds, else that of what came of the application. */
export async function withGroup(api: Api, id: string, named: Named): Promise<Named> {
  if (named.group !== undefined) return named;
  const known = knownKind(named.kind);
  if (known) return { ...named, ...(known.group ? { group: known.group } : {}) };
  const { nodes } = await api.call<Schemas["ResourceTree"]>("getApplicationTree", { path: { id } });
  return nodes.some(({ kind }) => kind === named.kind) ? findResource(named, nodes, id) : named;
}
