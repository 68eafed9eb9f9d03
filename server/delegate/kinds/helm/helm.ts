import { join } from "node:path";
import { failed, type KindResult, type TaskContext } from "../../kind.ts";
import { makeTaskFolder, putTaskFile } from "../../task/task-files.ts";
import { programLacks } from "../script/program.ts";

const HOW =
  "install Helm 3.16 or newer (https://helm.sh/docs/intro/install/) on the delegate's PATH, or use the delegate's image, which has it";

// It does not start below a home that can be no folder, unless it looks elsewhere.
const ELSEWHERE = { HELM_REGISTRY_CONFIG: "/nonexistent/registries.json" };

export const lacksHelm = (env: NodeJS.ProcessEnv) => programLacks("helm", ["version", "--short"], env, HOW, ELSEWHERE);

/** A Helm that knows nothing but its task: its settings, caches, plugins and logins are in the task's folder. */
export interface Helm {
  env: Record<string, string>;
  /** File of logins to OCI registries. */
  registries: string;
  /** File of HTTP repositories. */
  repositories: string;
  /** Runs it with its output in the log; gives what it said when it failed. */
  run(...args: string[]): Promise<Ran>;
  /** What it answers, when it succeeds. */
  ask(...args: string[]): Promise<string | undefined>;
}

export interface Ran {
  failure?: { reason: string; message: string };
  stdout: string[];
  /** Its messages, with the progress of uploads. */
  stderr: string[];
}

const KEPT_LINES = 200;

export async function openHelm(context: TaskContext): Promise<Helm> {
  const home = join(context.workspace.home, "helm");
  const { dir } = context.workspace;
  await makeTaskFolder(dir, home);
  const at = (name: string) => join(home, name);
  const registries = at("registries.json");
  await putTaskFile(dir, registries, "{}");
  const env: Record<string, string> = {
    ...context.env,
    HELM_CACHE_HOME: at("cache"),
    HELM_CONFIG_HOME: at("config"),
    HELM_DATA_HOME: at("data"),
    HELM_PLUGINS: at("plugins"),
    HELM_REGISTRY_CONFIG: registries,
    HELM_REPOSITORY_CONFIG: at("repositories.yaml"),
    HELM_REPOSITORY_CACHE: at("repositories"),
  };
  const run = async (...args: string[]): Promise<Ran> => {
    const [stdout, stderr]: [string[], string[]] = [[], []];
    const seen = (stream: string, text: string) => {
      const lines = stream === "stdout" ? stdout : stderr;
      lines.push(text);
      if (lines.length > KEPT_LINES) lines.shift();
    };
    const ran = await context.run("helm", args, { env, seen });
    if (ran.kind !== "done") return { failure: { reason: ran.reason, message: ran.message }, stdout, stderr };
    return ran.value === 0 ? { stdout, stderr } : { failure: explainHelm(stderr, ran.value), stdout, stderr };
  };
  const ask = async (...args: string[]) => {
    const asked = await context.ask("helm", args, { env });
    return asked.kind === "done" ? asked.value : undefined;
  };
  return { env, registries, repositories: env.HELM_REPOSITORY_CONFIG!, run, ask };
}

/** What Helm's words mean, by the first that fits. */
const MEANINGS: [RegExp, string, string][] = [
  [/another operation \(install\/upgrade\/rollback\) is in progress/, "OperationInProgress", ""],
  [
    /invalid ownership metadata|cannot be imported into the current release/,
    "OwnedByOther",
    "an object of the chart is there already and is not this release's: delete it, or give it this release's labels and annotations",
  ],
  [
    /timed out waiting|context deadline exceeded|not ready\. status|DeadlineExceeded/i,
    "NotReady",
    "not everything became ready in time",
  ],
  [
    /is forbidden: User/,
    "Forbidden",
    "give the delegate's service account this right (`permissions` of its chart), or the task a `cluster` with an account that has it",
  ],
  [/Kubernetes cluster unreachable|connect: connection refused.*\/api/, "ClusterUnavailable", ""],
  [
    /has no deployed releases/,
    "NoDeployedRelease",
    "the release was never installed successfully: helm.uninstall takes its remains away, or set `install`",
  ],
  [
    /field is immutable|updates to .* forbidden/,
    "FieldImmutable",
    "delete the object first, or give the new one another name",
  ],
  [
    /(401|403) (Unauthorized|Forbidden)|status code (401|403)|unauthorized|authentication required|basic credential not found|no basic auth/i,
    "LoginRefused",
    "the repository rejects the login: check user name and password",
  ],
  [
    /no chart version found|chart .* not found|not a valid chart repository|failed to (fetch|download|do request)|no such host|404 Not Found|: not found$/m,
    "ChartUnavailable",
    "the chart could not be fetched: check address, name and version",
  ],
  [/values don't meet the specifications/, "ValuesInvalid", "the values do not fit the chart's schema"],
  [/failed to parse .*values|parse .*values/, "ValuesInvalid", "the values are no YAML"],
  [
    /template:|parse error at|error calling|YAML parse error|error converting YAML|Chart\.yaml|chart metadata|missing in charts\/|no matches for kind|unable to build kubernetes objects|validation/i,
    "ChartInvalid",
    "",
  ],
];

/** Reason and message of a Helm that has failed: its own words without the paths of the task, and what to do. */
export function explainHelm(stderr: readonly string[], code: number): { reason: string; message: string } {
  const from = stderr.findLastIndex((line) => /^(Error|error): /.test(line));
  const lines = (from < 0 ? stderr.slice(-5) : stderr.slice(from)).filter(
    (line) => line.trim() !== "" && !/^(WARNING|I\d{4})/.test(line),
  );
  const said = lines
    .join("\n")
    .replace(/^Error: /, "")
    .replaceAll(/\/\S*\/tasks\/[^/\s]+\/((work|home|tmp)\/)?/g, "")
    .trim()
    .slice(0, 2_500);
  const [, reason = "HelmFailed", hint = ""] = MEANINGS.find(([pattern]) => pattern.test(said)) ?? [];
  return { reason, message: `${said || `helm exited with ${code}`}${hint ? `; ${hint}` : ""}` };
}

export const failedAs = (
  { reason, message }: { reason: string; message: string },
  outputs?: Record<string, unknown>,
): KindResult => failed(reason, message, outputs);
