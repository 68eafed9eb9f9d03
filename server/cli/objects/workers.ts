import { type Command, Option } from "commander";
import type { Schemas } from "../../../openapi/client.ts";
import document from "../../../openapi/contract/openapi.json" with { type: "json" };
import type { OperationId } from "../../../openapi/contract/operations.ts";
import { showAge } from "../../base/lang/duration.ts";
import { addFlags, type Flag, flagsOf, objectOf } from "../output/flags.ts";
import type { Io } from "../output/io.ts";
import { type Session, verb } from "../session/session.ts";
import { type Column, field, type Json, say, show, showAs } from "../show.ts";
import { migrateVerb } from "./migrate.ts";

type Word = "Agent" | "Delegate";

const FORMATS: string[] = document.paths["/v1/delegates/{id}/manifest"].post.parameters.flatMap((p) =>
  "schema" in p && p.schema && "enum" in p.schema ? (p.schema.enum as string[]) : [],
);

/** The flags of an installation: long values come from files, and agents do not have the delegates' flags. */
function installFlags(word: Word): Flag[] {
  const flags = flagsOf("InstallRequest").filter(
    ({ path, help }) => path[0] !== "withToken" && (word === "Delegate" || !/^Delegates\b/.test(help)),
  );
  const long = ["ca-certificate", "init-script"];
  return flags.map((flag) =>
    long.includes(flag.name) ? { ...flag, name: `${flag.name}-file`, kind: "secret" } : flag,
  );
}

/** What agents and delegates share: installation and enrolment tokens. */
export function workerVerbs(parent: Command, io: Io, word: Word): void {
  installVerbs(parent, io, word);
  tokenVerbs(parent, io, word);
  if (word === "Delegate") rotateVerb(parent, io);
  revokeVerb(parent, io, word);
}

function installVerbs(parent: Command, io: Io, word: Word): void {
  const flags = installFlags(word);
  const render = (name: string, summary: string, operation: OperationId, formats: string[] = []) => {
    const command = addFlags(parent.command(`${name} <id>`).summary(summary), flags);
    command.option("--without-token", "make no token: the text says where it goes, and holds no secret");
    if (formats.length)
      command.addOption(new Option("--format <format>", "what it is for").choices(formats).default("kubernetes"));
    command.action(
      verb(io, async (s, id: string, given: Record<string, unknown> & { format?: string; withoutToken?: boolean }) => {
        const body: Json = {
          ...(await objectOf(io, flags, given)),
          ...(given.withoutToken ? { withToken: false } : {}),
        };
        const query = given.format ? { format: given.format } : {};
        const headers = { accept: "application/yaml, text/plain" };
        const text = await (await s.api()).call<string>(operation, { path: { id }, query, body, headers });
        const secret = body.withToken !== false && body.existingSecret === undefined;
        if (io.out.isTTY && secret)
          say(s, s.e.yellow("This holds a fresh enrolment token: anyone who reads it can enrol as this worker."));
        io.out.write(text.endsWith("\n") ? text : `${text}\n`);
      }),
    );
  };
  if (word === "Delegate") {
    render(
      "manifest",
      "what installs it, with a fresh token: outpost delegate manifest ID | kubectl apply -f -",
      "renderDelegateManifest",
      FORMATS,
    );
    return;
  }
  render(
    "manifest",
    "Kubernetes manifest with a fresh token: outpost agent manifest ID | kubectl apply -f -",
    "renderAgentManifest",
  );
  render("values", "Helm values with a fresh token", "renderAgentValues");
  migrateVerb(parent, io);
}

const TOKEN_COLUMNS: Column[] = [
  { head: "ID", text: (o, c) => c.bold(field(o, "id")) },
  {
    head: "STATE",
    text: (o, c) => {
      if (o.revokedAt) return c.red("revoked");
      if (Date.parse(o.expiresAt) < Date.now()) return c.dim("expired");
      return o.maxUses > 0 && o.uses >= o.maxUses ? c.dim("used") : c.green("valid");
    },
  },
  { head: "USES", text: (o) => `${o.uses}${o.maxUses ? `/${o.maxUses}` : ""}` },
  { head: "AGE", text: (o) => showAge(o.createdAt) },
  { head: "EXPIRES", text: (o) => field(o, "expiresAt") },
];

function tokenVerbs(parent: Command, io: Io, word: Word): void {
  parent
    .command("token <id>")
    .summary("make an enrolment token; it is shown once")
    .option("--expires-in <duration>", "how long it can be used")
    .action(
      verb(io, async (s, id: string, given: { expiresIn?: string }) => {
        const body = given.expiresIn ? { expiresIn: given.expiresIn } : {};
        const headers = { "idempotency-key": crypto.randomUUID() };
        const asked = { path: { id }, body, headers };
        showToken(s, await (await s.api()).call<Schemas["WorkerToken"]>(`create${word}Token`, asked));
      }),
    );
  parent
    .command("tokens <id>")
    .summary("list enrolment tokens")
    .action(
      verb(io, async (s, id: string) => {
        const { items } = await (await s.api()).call<{ items: Json[] }>(`list${word}Tokens`, { path: { id } });
        show(s, items, TOKEN_COLUMNS, { empty: "no tokens" });
      }),
    );
}

function rotateVerb(parent: Command, io: Io): void {
  const flags = flagsOf("RotateTokenRequest");
  const command = parent.command("rotate <id> <token>");
  command.summary("make a token's successor; the old one ends after --overlap");
  addFlags(command, flags).action(
    verb(io, async (s, id: string, token: string, given: Record<string, unknown>) => {
      const body = await objectOf(io, flags, given);
      const headers = { "idempotency-key": crypto.randomUUID() };
      const asked = { path: { id, token }, body, headers };
      showToken(s, await (await s.api()).call<Schemas["WorkerToken"]>("rotateDelegateToken", asked));
    }),
  );
}

function revokeVerb(parent: Command, io: Io, word: Word): void {
  parent
    .command("revoke <id> <token>")
    .summary("revoke an enrolment token by its id")
    .action(
      verb(io, async (s, id: string, token: string) => {
        await (await s.api()).call(`revoke${word}Token`, { path: { id, token } });
        say(s, `${s.e.green("✓")} token ${s.e.bold(token)} revoked`);
      }),
    );
}

/** A token that was made just now: it is shown once, alone on the standard output. */
function showToken(s: Session, token: Schemas["WorkerToken"]): void {
  if (s.format === "name") {
    s.io.out.write(`${token.id}\n`);
    return;
  }
  showAs(s, token, () => token.token ?? "");
  say(
    s,
    s.e.dim(
      `token ${token.id}, valid until ${token.expiresAt}, ${token.maxUses === 1 ? "for one enrolment" : "for every replica"}`,
    ),
  );
}
