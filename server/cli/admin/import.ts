import type { Command } from "commander";
import type { OperationId } from "../../../openapi/contract/operations.ts";
import { printable } from "../../base/colour.ts";
import { table } from "../../base/table.ts";
import { allOf } from "../objects/list/all.ts";
import { type Noun, nounOf } from "../objects/nouns.ts";
import { EXIT, Failure, usage } from "../output/failure.ts";
import { type Io, readInput } from "../output/io.ts";
import { OFFLINE } from "../programs.ts";
import type { Api } from "../session/api.ts";
import { type Session, verb } from "../session/session.ts";
import { count, type Json, say, showAs } from "../show.ts";

interface Flags {
  filename: string[];
  agent: string;
  apply?: boolean;
}

/** One object of Argo CD, and what becomes of it. */
interface Row {
  object: string;
  /** `app web`; none when it is left out. */
  becomes?: string;
  result: string;
  /** Fields that our specification has no place for. */
  leftOut: string[];
}
interface Plan extends Row {
  noun?: Noun;
  id?: string;
  spec?: Json;
}

const collect = (text: string, before: string[] | undefined): string[] => [...(before ?? []), text];
const ID = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** `outpost admin import`: objects of Argo CD from files, as objects of the service. */
export function importVerb(admin: Command, io: Io): void {
  admin
    .command("import")
    .summary(
      "make applications, sets and projects of Argo CD the service's own; without --apply only shows what it would do",
    )
    .description(
      "Reads what `argocd admin export` or `kubectl get applications,applicationsets,appprojects -A -o yaml` gives, and creates the same in the service. " +
        "Shows what it would make, and what it leaves out and why; nothing is written without --apply, and nothing that is there is changed. " +
        "Credentials are not read.",
    )
    .requiredOption("-f, --filename <file>", "YAML or JSON; `-` for standard input; may be repeated", collect)
    .requiredOption("--agent <agent>", "the agent that is to keep them equal to Git")
    .option("--apply", "create them")
    .action(verb(io, run));
}

async function run(s: Session, flags: Flags): Promise<void> {
  const { fromArgo } = await OFFLINE.fromArgo();
  const files = await Promise.all(flags.filename.map(async (name) => ({ name, text: await readInput(s.io, name) })));
  const read = fromArgo(files);
  if (read.kind !== "done") throw usage(read.message);
  if (read.value.length === 0) throw usage(`${flags.filename.join(", ")} holds no object`);
  const api = await s.api();
  await api.call("getAgent", { path: { id: flags.agent } });
  const plans = await planned(api, read.value, flags.agent);
  let failed = 0;
  if (flags.apply)
    for (const plan of plans.filter(({ spec }) => spec).sort((a, b) => a.noun!.order - b.noun!.order)) {
      plan.result = await create(api, plan);
      if (plan.result !== "created") failed++;
    }
  const rows: Row[] = plans.map(({ noun: _, id: __, spec: ___, ...row }) => row);
  showAs(s, { items: rows }, () => asTable(rows, s.io.out.columns));
  const made = plans.filter(({ spec }) => spec).length;
  const rest = plans.length - made;
  if (!flags.apply) say(s, `${count(made, "object")} would be created, ${rest} left out; --apply creates them`);
  if (failed > 0) throw new Failure(`${count(failed, "object")} could not be created`, EXIT.failed);
}

function asTable(rows: readonly Row[], width: number | undefined): string {
  const cells = rows.map(({ object, becomes = "-", result, leftOut }) =>
    [object, becomes, result, leftOut.join(", ") || "-"].map(printable),
  );
  return table(["OBJECT", "BECOMES", "RESULT", "FIELDS LEFT OUT"], cells, width);
}

type Read = Extract<
  ReturnType<Awaited<ReturnType<typeof OFFLINE.fromArgo>>["fromArgo"]>,
  { kind: "done" }
>["value"][number];

async function planned(api: Api, all: readonly Read[], agent: string): Promise<Plan[]> {
  const taken = new Set<string>();
  for (const word of ["app", "appset", "appproject"])
    for (const { id } of await allOf(api, nounOf(word)!, {})) taken.add(`${word}/${id}`);
  const clusters = (await allOf(api, nounOf("cluster")!, {})).filter(({ spec }) => spec?.agent === agent);
  const projects = new Set(
    all.filter(({ kind, name }) => kind === "AppProject" && name !== "default").map((o) => o.name),
  );
  const plans: Plan[] = [];
  for (const one of all) {
    const object = `${one.kind} ${one.namespace ? `${one.namespace}/` : ""}${one.name}`;
    const noun = one.known ? nounOf(one.kind)! : undefined;
    const why = reasonAgainst(one, noun, taken);
    const at = one.cluster && clusters.find((cluster) => isSame(cluster, one.cluster!));
    const place =
      one.cluster && !at
        ? `no cluster ${one.cluster.server ?? one.cluster.name} of agent ${agent}: create it first`
        : undefined;
    if (!noun || why || place) {
      plans.push({ object, result: `left out: ${why ?? place}`, leftOut: [] });
      continue;
    }
    taken.add(`${noun.word}/${one.name}`);
    const spec = specOf(one, agent, projects, at?.id);
    plans.push({
      ...{ object, noun, id: one.name, spec, leftOut: one.inexpressible },
      becomes: `${noun.word} ${one.name}`,
      result: "would be created",
    });
  }
  return plans;
}

const isSame = ({ id, spec }: Json, { name, server }: NonNullable<Read["cluster"]>): boolean =>
  server === undefined ? id === name : String(spec?.server).replace(/\/+$/, "") === server.replace(/\/+$/, "");

function reasonAgainst(one: Read, noun: Noun | undefined, taken: ReadonlySet<string>): string | undefined {
  if (!noun)
    return one.kind === "Secret"
      ? "credentials are not read: use `outpost repo create` and `outpost cluster create`"
      : "it is not an Application, ApplicationSet or AppProject";
  if (one.maker)
    return `${one.maker.kind === "applicationset" ? "application set" : "application"} ${one.maker.name} makes it`;
  if (one.kind === "AppProject" && one.name === "default") return "each agent has one of its own";
  if (!ID.test(one.name)) return "its name is no id: small letters, digits and `-`, 63 at most";
  if (!one.spec) return "its specification cannot be said in ours";
  if (taken.has(`${noun.word}/${one.name}`)) return `there is ${noun.word} ${one.name} already`;
  return undefined;
}

function specOf(one: Read, agent: string, projects: ReadonlySet<string>, cluster: string | undefined): Json {
  const spec: Json = { ...one.spec, agent };
  if (one.kind !== "Application") return spec;
  // A project that comes along is referred to, so that it is there before and stays as long.
  if (projects.has(spec.argoProject)) {
    spec.appProject = spec.argoProject;
    delete spec.argoProject;
  }
  if (cluster) spec.destination = { ...spec.destination, cluster };
  return spec;
}

async function create(api: Api, { noun, id, spec }: Plan): Promise<string> {
  const call = { path: { id: id! }, body: { spec }, headers: { "if-none-match": "*" } };
  try {
    await api.call(`put${noun!.schema}` as OperationId, call);
    return "created";
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return `failed: ${error.message}`;
  }
}
