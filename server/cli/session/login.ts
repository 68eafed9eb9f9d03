import type { Command } from "commander";
import type { Schemas } from "../../../openapi/client.ts";
import { EXIT, Failure, usage } from "../output/failure.ts";
import { type Io, readInput } from "../output/io.ts";
import { say, show, showAs, state } from "../show.ts";
import { Api } from "./api.ts";
import { type Session, verb } from "./session.ts";
import { checkEndpoint, readSettings, resolveTarget, type SignIn, writeSettings } from "./settings.ts";

interface LoginFlags {
  keyFile?: string;
  name?: string;
  endpoint?: string;
  org?: string;
  project?: string;
}

/** `login`, `logout`, `whoami` and `context`. */
export function loginVerbs(root: Command, io: Io): void {
  loginVerb(root, io);
  logoutVerb(root, io);
  whoamiVerb(root, io);
  contextVerbs(root, io);
}

function loginVerb(root: Command, io: Io): void {
  root
    .command("login [endpoint]")
    .summary("sign in to a service and remember it")
    .description(
      "Signs in with an API key: from --key-file (`-` for standard input), else OUTPOST_API_KEY, else it is asked for.\nThe key is checked with the service and kept in ~/.config/outpost/config.json, readable by you alone.",
    )
    .option("--key-file <file>", "file with the API key, `-` for standard input")
    .option("--name <name>", "name of this sign-in; default: the service's host")
    .action(async (endpoint: string | undefined, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<LoginFlags>();
      await verb(io, (s: Session) => login(s, endpoint, flags))(command);
    });
}

function logoutVerb(root: Command, io: Io): void {
  root
    .command("logout [name]")
    .summary("forget a sign-in; default: the current one")
    .action(
      verb(io, async (s, given: string | undefined) => {
        const settings = await readSettings(io);
        const name = given ?? settings.current;
        if (!name || !settings.contexts[name])
          throw new Failure(given ? `there is no context ${JSON.stringify(given)}` : "not signed in", EXIT.notFound);
        delete settings.contexts[name];
        if (settings.current === name) delete settings.current;
        await writeSettings(io, settings);
        say(
          s,
          `${s.e.green("✓")} forgot ${s.e.bold(name)}; the key itself stays valid until \`outpost apikey delete\``,
        );
      }),
    );
}

function whoamiVerb(root: Command, io: Io): void {
  root
    .command("whoami")
    .summary("who this key is and what it may do")
    .action(
      verb(io, async (s) => {
        const api = await s.api();
        const me = await api.call<Schemas["Identity"]>("whoAmI");
        showAs(
          s,
          { ...me, endpoint: api.target.endpoint },
          () =>
            `${s.c.bold(me.id)} with role ${s.c.bold(me.role)} in ${[me.account, me.org, me.project].filter(Boolean).join("/")} at ${api.target.endpoint}`,
        );
      }),
    );
}

function contextVerbs(root: Command, io: Io): void {
  const context = root.command("context").summary("the services you are signed in to");
  context
    .command("list")
    .alias("ls")
    .summary("list them")
    .action(
      verb(io, async (s) => {
        const settings = await readSettings(io);
        // The key stays in the file: this shows where one is signed in, not with what.
        const rows = Object.entries(settings.contexts).map(([id, { apiKey: _, ...rest }]) => ({
          id,
          current: id === settings.current,
          ...rest,
        }));
        show(
          s,
          rows,
          [
            { head: "", text: (o, c) => (o.current ? c.green("●") : " ") },
            { head: "NAME", text: (o) => o.id },
            { head: "SCOPE", text: (o) => [o.org, o.project].filter(Boolean).join("/") },
            { head: "ENDPOINT", text: (o) => o.endpoint },
          ],
          { empty: "not signed in anywhere; outpost login ENDPOINT" },
        );
      }),
    );
  context
    .command("use <name>")
    .summary("make one current; --org and --project set its default scope")
    .action(async (name: string, _: unknown, command: Command) => {
      const flags = command.optsWithGlobals<LoginFlags>();
      await verb(io, (s: Session) => use(s, name, flags))(command);
    });
}

async function login(s: Session, given: string | undefined, flags: LoginFlags): Promise<void> {
  const { io } = s;
  const known =
    given ??
    flags.endpoint ??
    (io.env.OUTPOST_ENDPOINT || undefined) ??
    (await resolveTarget(io, flags).catch(() => undefined))?.endpoint;
  if (!known) throw usage("which service? outpost login ENDPOINT");
  const endpoint = checkEndpoint(known);
  const apiKey = (
    flags.keyFile
      ? await readInput(io, flags.keyFile)
      : io.env.OUTPOST_API_KEY || (await io.askSecret(`API key for ${endpoint}: `))
  )?.trim();
  if (!apiKey)
    throw new Failure("no API key was given", EXIT.usage, { hint: "--key-file FILE, --key-file - or OUTPOST_API_KEY" });
  const { org, project } = flags;
  const api = new Api({ endpoint, apiKey, org, project, context: undefined }, io);
  const me = await api.call<Schemas["Identity"]>("whoAmI");
  const settings = await readSettings(io);
  const name = flags.name ?? new URL(endpoint).host;
  // A key for one organisation or project works there by default.
  const scope = { org: org ?? me.org, project: project ?? me.project };
  const context: SignIn = {
    endpoint,
    apiKey,
    ...(scope.org ? { org: scope.org } : {}),
    ...(scope.project ? { project: scope.project } : {}),
  };
  const path = await writeSettings(io, {
    ...settings,
    current: name,
    contexts: { ...settings.contexts, [name]: context },
  });
  say(
    s,
    `${s.e.green("✓")} signed in to ${s.e.bold(endpoint)} as ${s.e.bold(me.id)} (${state(me.role, s.e)}); kept in ${path}`,
  );
}

async function use(s: Session, name: string, flags: LoginFlags): Promise<void> {
  const settings = await readSettings(s.io);
  const context = settings.contexts[name];
  if (!context)
    throw new Failure(`there is no context ${JSON.stringify(name)}`, EXIT.notFound, { hint: "outpost context list" });
  if (flags.org !== undefined) context.org = flags.org;
  if (flags.project !== undefined) context.project = flags.project;
  await writeSettings(s.io, { ...settings, current: name });
  say(s, `${s.e.green("✓")} now using ${s.e.bold(name)} (${context.endpoint})`);
}
