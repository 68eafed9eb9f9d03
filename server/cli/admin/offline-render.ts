import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import { stringify } from "yaml";
import { printable } from "../../base/colour.ts";
import { diffText } from "../app/diff.ts";
import { clusterOf } from "../kubeconfig.ts";
import { EXIT, Failure, usage } from "../output/failure.ts";
import { type Io, paint, readInput } from "../output/io.ts";
import { OFFLINE } from "../programs.ts";

interface Flags {
  path?: string;
  repo?: string[];
  revision?: string;
  kubeVersion?: string;
  apiVersions?: string;
  tracking?: boolean;
  againstRevision?: string;
  live?: string[];
  kubeconfig?: string;
  context?: string;
}

const collect = (value: string, before: string[] = []): string[] => [...before, value];
// A folder of live objects is a dump of an application, not of a disk.
const MAX_FILES = 2_000;

/** `outpost admin render` and `outpost admin diff`: applications on files, without a service. */
export function renderVerbs(admin: Command, io: Io): void {
  const files =
    "FILE is an Application or an ApplicationSet, or several; `-` is standard input. Beside them it may hold the ConfigMap argocd-cm and the " +
    "Secrets of clusters. Repositories for which no folder is given are fetched from where they are, without credentials.";
  common(admin.command("render <files...>"))
    .summary("what applications make of files at hand, as the controller would apply it")
    .description(`Prints the objects of applications as the controller would apply them. ${files}`)
    .option("--tracking", "with the marks of the application on each object")
    .action((names: string[], flags: Flags, command: Command) => render(io, names, flags, command));
  common(admin.command("diff <files...>"))
    .summary("in what applications on files differ from a revision, from files or from a cluster; exits 1 when they do")
    .description(
      "Compares the objects of applications with those at another revision, in files, or in a cluster, which is only read. Without a choice: " +
        `the files as they are with the last commit. Secrets are shown as digests. ${files} Exits 0 when nothing differs, 1 when something does.`,
    )
    .option("--against-revision <rev>", "with a revision of the same repository")
    .option("--live <path>", "with the objects in a file or a folder; may be given again", collect)
    .option("--kubeconfig <file>", "with a cluster, by reading alone")
    .option("--context <name>", "of the kubeconfig")
    .action((names: string[], flags: Flags, command: Command) => diff(io, names, flags, command));
}

function common(command: Command): Command {
  return command
    .option("--path <folder>", "the checkout of the source's repository")
    .option("--repo <url=folder>", "the checkout of a repository; may be given again", collect)
    .option("--revision <rev>", "a revision of the checkouts, not the files as they are now")
    .option("--kube-version <version>", "of the cluster, for charts that ask")
    .option("--api-versions <list>", "that the cluster has, with commas between, for charts that ask");
}

async function render(io: Io, names: string[], flags: Flags, command: Command): Promise<void> {
  const { renderManifests, withoutTracking } = await OFFLINE.render();
  const rendered = await renderManifests(await askOf(io, names, flags));
  if (rendered.kind !== "done") throw new Failure(rendered.message);
  const e = paint(io, io.err);
  for (const { app, warnings } of rendered.value)
    for (const warning of warnings)
      io.err.write(`${e.yellow("warning:")} ${printable(`${app.metadata.name}: ${warning}`)}\n`);
  const objects = rendered.value.flatMap(({ targets, settings }) =>
    targets.map(({ object }) => (flags.tracking ? object : withoutTracking(object, settings.tracking))),
  );
  if (format(command) === "json") {
    io.out.write(`${JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }, undefined, 2)}\n`);
    return;
  }
  for (const object of objects) io.out.write(`---\n${stringify(object, { aliasDuplicateObjects: false })}`);
}

async function diff(io: Io, names: string[], flags: Flags, command: Command): Promise<void> {
  const chosen = [flags.againstRevision, flags.live, flags.kubeconfig].filter((one) => one !== undefined);
  if (chosen.length > 1) throw usage("only one of --against-revision, --live and --kubeconfig can be compared with");
  const { diffManifests } = await OFFLINE.diff();
  const got = await diffManifests(await askOf(io, names, flags), await against(io, flags));
  // As with diff(1), 1 is an answer: what went wrong is another code.
  if (got.kind !== "done") throw new Failure(got.message, EXIT.usage);
  const c = paint(io, io.out);
  const shape = format(command);
  if (shape === "json") io.out.write(`${JSON.stringify({ items: got.value }, undefined, 2)}\n`);
  else if (shape === "yaml") io.out.write(stringify({ items: got.value }));
  else if (got.value.length > 0) io.out.write(`${got.value.map((item) => diffText(item, c)).join("\n\n")}\n`);
  const count = got.value.length;
  if (count > 0)
    throw new Failure(`${count} object${count === 1 ? " differs" : "s differ"}`, EXIT.failed, { answer: true });
}

async function askOf(io: Io, names: string[], flags: Flags) {
  if (names.filter((name) => name === "-").length > 1) throw usage("only one of the files can be standard input");
  const folders: Record<string, string> = {};
  for (const mapping of flags.repo ?? []) {
    const at = mapping.lastIndexOf("=");
    if (at < 1 || at === mapping.length - 1) throw usage(`--repo takes URL=FOLDER, not ${JSON.stringify(mapping)}`);
    folders[mapping.slice(0, at)] = await folder(mapping.slice(at + 1));
  }
  return {
    files: await files(io, names),
    folders,
    ...(flags.path === undefined ? {} : { path: await folder(flags.path) }),
    ...(flags.revision === undefined ? {} : { revision: flags.revision }),
    ...(flags.kubeVersion === undefined ? {} : { kubeVersion: flags.kubeVersion }),
    ...(flags.apiVersions === undefined ? {} : { apiVersions: flags.apiVersions.split(",").filter(Boolean) }),
  };
}

async function against(io: Io, { againstRevision, live, kubeconfig, context }: Flags) {
  if (live)
    return { kind: "objects" as const, files: await files(io, (await Promise.all(live.map(filesBelow))).flat()) };
  if (kubeconfig === undefined) return { kind: "revision" as const, revision: againstRevision ?? "HEAD" };
  const { loadConfig } = await OFFLINE.diff();
  return {
    kind: "cluster" as const,
    config: clusterOf(io, loadConfig, { kubeconfig, ...(context === undefined ? {} : { context }) }),
  };
}

const files = (io: Io, names: string[]) =>
  Promise.all(names.map(async (name) => ({ name, text: await readInput(io, name) })));

async function filesBelow(path: string): Promise<string[]> {
  if (path === "-" || !(await info(path)).isDirectory()) return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const found = entries
    .filter((entry) => entry.isFile() && /\.(ya?ml|json)$/.test(entry.name))
    .map((e) => join(e.parentPath, e.name));
  if (found.length > MAX_FILES) throw usage(`${path} holds more than ${MAX_FILES} files`);
  return found.sort();
}

async function folder(path: string): Promise<string> {
  if (!(await info(path)).isDirectory()) throw usage(`${path} is not a folder`);
  return path;
}

const info = (path: string) => stat(path).catch((error: Error) => Promise.reject(usage(error.message)));

function format(command: Command): string {
  const { output } = command.optsWithGlobals<{ output?: string }>();
  return command.getOptionValueSourceWithGlobals("output") === "cli" ? (output ?? "") : "";
}
