import type { Command } from "commander";
import { stringify } from "yaml";
import type { Schemas } from "../../../openapi/client.ts";
import { printable } from "../../base/colour.ts";
import { EXIT, Failure, usage } from "../output/failure.ts";
import type { Io } from "../output/io.ts";
import { verb } from "../session/session.ts";
import { type Json, say, showAs } from "../show.ts";

type Live = Schemas["LiveResource"];

const collect = (text: string, before: Record<string, string> | undefined): Record<string, string> => {
  const at = text.indexOf("=");
  if (at < 1) throw usage(`--param takes name=value, not ${JSON.stringify(text)}`);
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
};

/** `app resource` and `app action`: one object as it is, and what may be done to it. */
export function resourceVerbs(app: Command, io: Io): void {
  app
    .command("resource <id> <group/Kind/[namespace/]name>")
    .summary("one object as it is in the cluster, and what may be done to it")
    .action(
      verb(io, async (s, id: string, resource: string) => {
        const query = parseResource(resource, "a resource");
        const got = await (await s.api()).call<Live>("getApplicationResource", { path: { id }, query });
        if (s.format === "name") for (const action of got.actions) s.io.out.write(`${printable(action.name)}\n`);
        else if (s.format === "json" || s.format === "yaml") showAs(s, got, () => "");
        else {
          s.io.out.write(printable(stringify(got.live, { lineWidth: 0 })));
          if (got.orphan) say(s, s.e.yellow("an orphan: it belongs to no application"));
          say(s, s.e.dim(got.actions.length ? `actions: ${got.actions.map(described).join(", ")}` : "no actions"));
        }
      }),
    );
  app
    .command("action <id> <group/Kind/[namespace/]name> <action>")
    .summary("do something to one object: restart, pause, resume, scale, …")
    .option("--param <name=value>", "a parameter of the action; may be repeated", collect)
    .action(
      verb(io, async (s, id: string, resource: string, action: string, flags: { param?: Record<string, string> }) => {
        const body = { resource: parseResource(resource, "a resource"), action, ...(flags.param ? { parameters: flags.param } : {}) };
        const got = await (await s.api()).call<Live>("runApplicationAction", { path: { id }, body });
        if (s.format === "json" || s.format === "yaml") return showAs(s, got, () => "");
        say(s, `${s.e.green("✓")} ${printable(action)} of ${s.e.bold(printable(resource))} is done`);
      }),
    );
}

function described({ name, disabled, parameters }: Live["actions"][number]): string {
  const takes = (parameters ?? []).map((p) => (p.default ? `${p.name}=${p.default}` : p.name)).join(", ");
  return printable(`${name}${takes ? ` (${takes})` : ""}${disabled ? " [not now]" : ""}`);
}

interface Named {
  group?: string;
  kind: string;
  namespace?: string;
  name: string;
}
const MOST_CANDIDATES = 5;

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
    throw usage(`${kind} ${name} is ambiguous: application ${id} has it in the groups ${[...groups].join(", ")}; put the group in front`);
  const near = [...known].sort((a, b) => nearness(b, wanted) - nearness(a, wanted)).slice(0, MOST_CANDIDATES);
  const more = known.length > near.length ? ", …" : "";
  throw new Failure(
    `application ${id} has no ${kind} ${name}; it has ${near.map((one) => printable(`${one.kind}/${one.name}`)).join(", ")}${more}`,
    EXIT.notFound,
  );
}

const nearness = (one: Json, { kind, name }: Named): number => (one.kind === kind ? 2 : 0) + (one.name === name ? 1 : 0);

/** `apps/Deployment/web/api`, `Service/api`: group and namespace may be left out. */
export function parseResource(text: string, what = "--resource"): { group?: string; kind: string; namespace?: string; name: string } {
  const parts = text.split("/");
  const kindAt = parts.findIndex((p) => /^[A-Z]/.test(p));
  const [kind, ...rest] = parts.slice(Math.max(kindAt, 0));
  const group = kindAt > 0 ? parts.slice(0, kindAt).join("/") : undefined;
  if (kindAt < 0 || kindAt > 1 || rest.length < 1 || rest.length > 2 || rest.some((p) => !p))
    throw new Failure(`${what} takes group/Kind/[namespace/]name, not ${JSON.stringify(text)}`, EXIT.usage);
  return { ...(group ? { group } : {}), kind: kind!, ...(rest.length === 2 ? { namespace: rest[0]! } : {}), name: rest.at(-1)! };
}
