import { type Command, Option } from "commander";
import { printable } from "../../base/colour.ts";
import { table } from "../../base/table.ts";
import { parseExact } from "../output/exact.ts";
import { Failure, usage } from "../output/failure.ts";
import { addFlags, objectOf } from "../output/flags.ts";
import { type Io, readInput } from "../output/io.ts";
import { type Session, verb } from "../session/session.ts";
import { type Json, say, show, showAs } from "../show.ts";
import { COMMON, checkParams, KINDS, setParam, type TaskKindInfo } from "./kinds.ts";
import { logs } from "./logs.ts";
import { type Task, taskColumns } from "./show.ts";

const EXAMPLES = `
Examples:
  outpost task run shell.run --script 'uname -a' -f
  outpost task run shell.run --script-file deploy.sh --env STAGE=prod --selectors linux -f
  outpost task run git.clone --url https://git.example.com/app.git --password '\${secret:env/GIT}'
  outpost task run kubernetes.apply --manifests-file app.yaml --namespace web
  outpost task run helm.upgrade --release web --chart-oci oci://registry.example.com/web --chart-version 1.2.0
  outpost task run terraform.plan --params-file plan.yaml --param policy.maxDelete=0

Values of --param are texts where the kind wants texts, else JSON: --param 'files=[{"path":"a"}]'.
Secrets are never given, but named: the delegate that runs the task puts \${secret:SOURCE/PATH#KEY} in.
\`outpost task kinds\` lists the kinds, \`outpost task kinds KIND\` the parameters of one.`;

const collect = (text: string, before: string[] | undefined): string[] => [...(before ?? []), text];

/** `task run KIND` and `task kinds`. */
export function runVerbs(task: Command, io: Io): void {
  const run = task.command("run").summary("queue a task").addHelpText("after", EXAMPLES);
  for (const kind of KINDS) {
    const command = addFlags(
      run.command(kind.name).summary(sentence(kind.description)).description(kind.description),
      kind.flags,
    );
    for (const flag of kind.flags.filter((f) => f.long))
      command.addOption(
        new Option(`--${flag.name}-file <file>`, `${flag.name} from a file, \`-\` for standard input`).conflicts(
          flag.name,
        ),
      );
    addFlags(command, COMMON)
      .option("--param <path=value>", "any parameter; may be repeated", collect)
      .option("--params-file <file>", "parameters as YAML or JSON, `-` for standard input; flags come on top")
      .option("-f, --follow", "show its output and wait for its end; exits 1 unless it succeeds")
      .action(verb(io, async (s, given: Json) => start(s, kind, given)));
  }
  task
    .command("kinds [kind]")
    .summary("the kinds of tasks, or the parameters of one")
    .action(verb(io, async (s, name: string | undefined) => showKinds(s, name)));
}

async function start(s: Session, kind: TaskKindInfo, given: Json): Promise<void> {
  const params: Json = given.paramsFile ? await readParams(s.io, given.paramsFile) : {};
  for (const flag of kind.flags.filter((f) => f.long)) {
    const file = given[`${camel(flag.name)}File`];
    if (file) params[flag.path[0]!] = await readInput(s.io, file);
  }
  merge(params, await objectOf(s.io, kind.flags, given));
  for (const text of given.param ?? []) setParam(kind, params, text);
  checkParams(kind, params);
  const body = { kind: kind.name, params, ...(await objectOf(s.io, COMMON, given)) };
  const task = await (await s.api()).call<Task>("createTask", {
    body,
    headers: { "idempotency-key": crypto.randomUUID() },
  });
  await queued(s, task, given.follow === true);
}

/** Tells of a task that was queued, and follows it when that was asked for. */
export async function queued(s: Session, task: Task, follow: boolean): Promise<void> {
  if (follow) {
    if (s.format === "table") say(s, s.e.dim(`task ${task.id}`));
    return logs(s, task.id, true);
  }
  if (s.format === "table" || s.format === "wide") {
    say(s, `${s.e.green("✓")} task queued; outpost task logs -f ${task.id}`);
    s.io.out.write(`${task.id}\n`);
  } else show(s, [task], taskColumns, { one: true });
}

async function readParams(io: Io, file: string): Promise<Json> {
  const text = await readInput(io, file);
  try {
    const value = parseExact(text, file);
    if (value !== null && typeof value === "object" && !Array.isArray(value)) return value as Json;
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw usage(`${file}: ${(error as Error).message.split("\n")[0]}`);
  }
  throw usage(`${file}: an object with the parameters is expected`);
}

/** Puts one object over another; lists and texts are replaced. */
function merge(onto: Json, from: Json): void {
  for (const [key, value] of Object.entries(from)) {
    const below = onto[key];
    const both = [below, value].every((v) => v !== null && typeof v === "object" && !Array.isArray(v));
    if (both) merge(below, value);
    else onto[key] = value;
  }
}

function showKinds(s: Session, name: string | undefined): void {
  if (name === undefined) {
    const items = KINDS.map((k) => ({
      kind: k.name,
      description: k.description,
      required: k.required,
      parameters: Object.keys(k.properties),
    }));
    if (s.format === "name") for (const k of KINDS) s.io.out.write(`${k.name}\n`);
    else
      showAs(s, { items }, () =>
        table(
          ["KIND", "DESCRIPTION"].map(s.c.bold),
          KINDS.map((k) => [s.c.bold(k.name), sentence(k.description)]),
        ),
      );
    return;
  }
  const kind = KINDS.find((k) => k.name.toLowerCase() === name.toLowerCase());
  if (!kind) throw usage(`there is no kind ${JSON.stringify(name)}; outpost task kinds lists them`);
  const rows = kind.flags.map((f) => [
    f.path.join("."),
    `--${f.name}${f.long ? `[-file]` : ""}`,
    kind.required.includes(f.path[0]!) && f.path.length === 1 ? s.c.yellow("required") : "",
    printable(f.help),
  ]);
  const others = Object.keys(kind.properties).filter((p) => !kind.flags.some((f) => f.path[0] === p));
  rows.push(
    ...others.map((p) => [
      p,
      `--param ${p}=JSON`,
      kind.required.includes(p) ? s.c.yellow("required") : "",
      kind.properties[p]!.description ?? "",
    ]),
  );
  const data = { kind: kind.name, description: kind.description, required: kind.required, parameters: kind.properties };
  showAs(
    s,
    data,
    () => `${kind.description}\n\n${table(["PARAMETER", "FLAG", "", "DESCRIPTION"].map(s.c.bold), rows)}`,
  );
}

const sentence = (text: string): string => text.split(/\.(\s|$)/)[0]!;
const camel = (name: string): string => name.replace(/-([a-z0-9])/g, (_, c: string) => c.toUpperCase());
