import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Schemas } from "../../../../openapi/client.ts";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { inside } from "../../config/safe-path.ts";
import type { TaskContext } from "../../kind.ts";
import { putTaskFile } from "../../task/task-files.ts";
import type { Helm } from "./helm.ts";

type HelmChart = Schemas["HelmChart"];

export interface Chart {
  /** The chart argument of Helm's command, and the flags before it. */
  name: string;
  flags: string[];
  /** Folder of the source, below which value files are. */
  folder?: string;
}

/** Name of the one HTTP repository that a task knows. */
const REPOSITORY = "task";

/** The chart that a task means, ready to be named in a command. Passwords are in files that only the delegate's user reads. */
export async function takeChart(chart: HelmChart, helm: Helm, context: TaskContext): Promise<Outcome<Chart>> {
  const { source, oci, repository, version } = chart;
  const ways = [source, oci, repository].filter((way) => way !== undefined).length;
  if (ways !== 1) return stop("ParamsInvalid", "/params/chart: give one of `source`, `oci` and `repository`");
  if ((chart.username === undefined) !== (chart.password === undefined))
    return stop("ParamsInvalid", "/params/chart: a login has both `username` and `password`");
  const versions = version === undefined ? [] : ["--version", version];
  if (source) {
    const found = await fromSource(chart, context);
    if (found.kind !== "done") return found;
    const { folder, path } = found.value;
    const flags = chart.dependencyUpdate ? ["--dependency-update"] : [];
    return done({ name: path, flags, folder });
  }
  if (oci)
    return done({ name: oci, flags: [...versions, ...(await ociFlags({ ...chart, address: oci }, helm, context))] });
  if (!chart.name) return stop("ParamsInvalid", "/params/chart/name: a chart of a `repository` needs its name");
  const added = await addRepository(chart, helm, context);
  return added ?? done({ name: `${REPOSITORY}/${chart.name}`, flags: versions });
}

async function fromSource(
  { source, path = "." }: HelmChart,
  context: TaskContext,
): Promise<Outcome<{ folder: string; path: string }>> {
  const folder = await context.source(source);
  if (folder.kind !== "done") return folder;
  const found = await inside(folder.value, path);
  if (found.kind !== "done") return stop(found.reason, `/params/chart/path: ${found.message}`);
  const isChart = async (place: string) => (await stat(join(place, "Chart.yaml")).catch(() => undefined)) !== undefined;
  if ((await isChart(found.value)) || (await stat(found.value)).isFile())
    return done({ folder: folder.value, path: found.value });
  // A package is unpacked like every archive: its chart is in a folder of the chart's name.
  const [inner, ...others] = source?.artifact ? await readdir(found.value) : [];
  if (inner && others.length === 0 && (await isChart(join(found.value, inner))))
    return done({ folder: join(found.value, inner), path: join(found.value, inner) });
  return stop(
    "ChartNotFound",
    `/params/chart/path: there is no Chart.yaml in ${JSON.stringify(path)}; say in which folder the chart is`,
  );
}

export interface Registry {
  address: string;
  username?: string;
  password?: string;
  plainHttp?: boolean;
  caCertificate?: string;
}

/** Flags for an OCI registry, with its login in Helm's file. */
export async function ociFlags(registry: Registry, helm: Helm, context: TaskContext): Promise<string[]> {
  const { address, username, password, plainHttp, caCertificate } = registry;
  const host = new URL(address.replace(/^oci:/, "https:")).host;
  if (username !== undefined) {
    const auth = Buffer.from(`${username}:${password}`).toString("base64");
    await putTaskFile(context.workspace.dir, helm.registries, JSON.stringify({ auths: { [host]: { auth } } }));
  }
  return [
    ...(plainHttp ? ["--plain-http"] : []),
    ...(caCertificate === undefined ? [] : ["--ca-file", await caFile(caCertificate, context)]),
  ];
}

async function addRepository(chart: HelmChart, helm: Helm, context: TaskContext): Promise<Outcome<never> | undefined> {
  const { repository, username, password, caCertificate } = chart;
  const login = username === undefined ? {} : { username, password };
  const ca = caCertificate === undefined ? {} : { caFile: await caFile(caCertificate, context) };
  const entry = { name: REPOSITORY, url: repository, ...login, ...ca };
  // JSON is YAML.
  const text = JSON.stringify({ apiVersion: "", generated: "2020-01-01T00:00:00Z", repositories: [entry] });
  await putTaskFile(context.workspace.dir, helm.repositories, text);
  const ran = await helm.run("repo", "update", "--fail-on-repo-update-fail", REPOSITORY);
  if (!ran.failure) return undefined;
  const said = [...ran.stdout, ...ran.stderr];
  const at = said.findIndex((line) => line.includes("Unable to get an update"));
  const why = (at < 0 ? undefined : said[at + 1]?.trim()) ?? ran.failure.message;
  const refused = /\b40[13]\b/.test(why);
  return stop(
    refused ? "LoginRefused" : "ChartUnavailable",
    `the repository ${repository} cannot be read: ${why}${refused ? "; check user name and password" : ""}`,
  );
}

async function caFile(pem: string, context: TaskContext): Promise<string> {
  const file = join(context.workspace.home, "helm", "ca.crt");
  await putTaskFile(context.workspace.dir, file, pem);
  return file;
}
