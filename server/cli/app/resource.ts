import type { Command } from "commander";
import { stringify } from "yaml";
import type { Schemas } from "../../../openapi/client.ts";
import { printable } from "../../base/colour.ts";
import { usage } from "../output/failure.ts";
import type { Io } from "../output/io.ts";
import type { Api } from "../session/api.ts";
import { verb } from "../session/session.ts";
import { say, showAs } from "../show.ts";
import { type Named, parseResource, RESOURCE, withGroup } from "./resource-name.ts";

type Live = Schemas["LiveResource"];

const collect = (text: string, before: Record<string, string> | undefined): Record<string, string> => {
  const at = text.indexOf("=");
  if (at < 1) throw usage(`--param takes name=value, not ${JSON.stringify(text)}`);
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
};

/** `app resource` and `app action`: one object as it is, and what may be done to it. */
export function resourceVerbs(app: Command, io: Io): void {
  app
    .command("resource")
    .argument("<id>")
    .argument("<resource>", RESOURCE)
    .summary("one object as it is in the cluster, and what may be done to it")
    .action(
      verb(io, async (s, id: string, resource: string) => {
        const api = await s.api();
        const query = { ...(await withGroup(api, id, parseResource(resource, "a resource"))) };
        const got = await api.call<Live>("getApplicationResource", { path: { id }, query });
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
    .command("action")
    .argument("<id>")
    .argument("<resource>", RESOURCE)
    .argument("[action]", "one of those that are listed without it")
    .summary("do something to one object: restart, pause, resume, scale, …")
    .option("--param <name=value>", "a parameter of the action; may be repeated", collect)
    .action(
      verb(
        io,
        async (
          s,
          id: string,
          resource: string,
          action: string | undefined,
          flags: { param?: Record<string, string> },
        ) => {
          const api = await s.api();
          const named = await withGroup(api, id, parseResource(resource, "a resource"));
          if (action === undefined) throw usage(await whichAction(api, id, named));
          const body = { resource: named, action, ...(flags.param ? { parameters: flags.param } : {}) };
          const got = await api.call<Live>("runApplicationAction", { path: { id }, body });
          if (s.format === "json" || s.format === "yaml") return showAs(s, got, () => "");
          say(s, `${s.e.green("✓")} ${printable(action)} of ${s.e.bold(printable(resource))} is done`);
        },
      ),
    );
}

async function whichAction(api: Api, id: string, named: Named): Promise<string> {
  const { actions } = await api.call<Live>("getApplicationResource", { path: { id }, query: { ...named } });
  const what = `${named.kind} ${named.name}`;
  return actions.length === 0
    ? `${what} has no actions`
    : `name an action; ${what} has ${actions.map(described).join(", ")}`;
}

function described({ name, disabled, parameters }: Live["actions"][number]): string {
  const takes = (parameters ?? []).map((p) => (p.default ? `${p.name}=${p.default}` : p.name)).join(", ");
  return printable(`${name}${takes ? ` (${takes})` : ""}${disabled ? " [not now]" : ""}`);
}
