import type { KubeObject } from "../../object.ts";
import { type Checks, firstOf, when } from "../rules.ts";
import { type Condition, conditionsOf, type Health, type HealthCheck, health } from "../types.ts";

interface Names {
  /** What it is called before its controller has seen it, and when it fails. */
  initial: string;
  waits: string;
  missing: string;
  failed: string;
  /** The prefix of what fails for another reason than an error. */
  other: (reason: string) => string;
  unknown?: string;
  types?: readonly string[];
}
type Told = Condition & { observedGeneration?: number };

/** What every kind of the promoter has: a Ready condition for the newest generation. */
const reconciled = ({ initial, waits, missing, failed, other, unknown, types = ["Ready"] }: Names): HealthCheck =>
  firstOf(
    when(({ status }) => !status, "Progressing", `Initializing ${initial}`),
    (object) => {
      const told = (conditionsOf(object) as Told[]).filter((c) => types.includes(c.type ?? ""));
      for (const condition of told) {
        const { observedGeneration: seen, status, reason = "Unknown", message } = condition;
        const { generation } = object.metadata;
        if (seen !== undefined && generation !== undefined && seen !== generation)
          return health("Progressing", `Waiting for ${waits} spec update to be observed`);
        if (status === "False" && reason === "ReconciliationError")
          return health("Degraded", `${failed}: ${message ?? "Unknown error"}`);
        if (status === "False") return health("Degraded", `${other(reason)}: ${message ?? "Unknown error"}`);
        if (status === "Unknown" && unknown)
          return health("Progressing", `${unknown} (${reason}): ${message ?? "Unknown"}`);
      }
      return told.length === 0 ? health("Progressing", missing) : undefined;
    },
  );

const named = (what: string): Names => {
  const name = what[0]!.toUpperCase() + what.slice(1);
  const failed = `${name} reconciliation failed`;
  const other = (reason: string) => `${failed} (${reason})`;
  return { initial: what, waits: what, missing: `${name} is not ready yet`, failed, other };
};
const provider = (kind: string, initial: string, subject: string): HealthCheck =>
  firstOf(
    reconciled({
      initial,
      waits: kind,
      missing: `${kind} Ready condition is missing`,
      failed: `${subject} validation failed`,
      other: (reason) => `${subject} not ready (${reason})`,
      unknown: `${subject} readiness unknown`,
    }),
    when(() => true, "Healthy", `${subject} is ready`),
  );

interface Gate {
  kind: string;
  subject: string;
  unknown: string;
  /** How it is called when branches are named. */
  branches: string;
  passed: string;
}

/** Gates judge each environment's branch. */
const gate = ({ kind, subject, unknown, branches, passed }: Gate): HealthCheck =>
  firstOf(
    reconciled({
      initial: subject[0]!.toLowerCase() + subject.slice(1),
      waits: kind,
      missing: `${kind} Ready condition is missing`,
      failed: `${subject} failed`,
      other: (reason) => `${subject} not ready (${reason})`,
      unknown,
    }),
    ({ status }) => {
      const all: { branch?: string; phase?: string }[] = status.environments ?? [];
      if (all.length === 0) return health("Healthy", `${subject} reconciled`);
      const of = (test: (phase: string) => boolean) =>
        all.filter((e) => test(e.phase ?? "pending")).map((e) => e.branch ?? "?");
      const failed = of((phase) => phase === "failure");
      const pending = of((phase) => phase !== "failure" && phase !== "success");
      if (failed.length) return health("Degraded", `${branches} failed for branch(es): ${failed.join(", ")}`);
      if (pending.length) return health("Progressing", `${branches} pending for branch(es): ${pending.join(", ")}`);
      return health("Healthy", `${passed} for ${all.length} environment(s)`);
    },
  );

interface Commit {
  dry?: { sha?: string };
  /** What the hydrator wrote that needed no new commit. */
  note?: { drySha?: string };
  commitStatuses?: { key: string; phase?: string }[];
}
interface Environment {
  branch: string;
  active?: Commit;
  proposed?: Commit;
}
const shaOf = (commit?: Commit): string => commit?.dry?.sha ?? "";
const short = (commit?: Commit): string => shaOf(commit).slice(0, 7);
const hydrated = (commit?: Commit): string => commit?.note?.drySha || shaOf(commit);
const processed = ({ proposed }: Environment): string =>
  `Hydrator has processed dry commit '${hydrated(proposed).slice(0, 7)}'.`;

/** `1 pending, 2 successful, 0 failed. Pending commit statuses: a. `; the space at the end is the ecosystem's. */
function tally({ commitStatuses = [] }: Commit): { text: string; pending: number; failed: number } {
  const keys = (phase: string) => commitStatuses.filter((s) => s.phase === phase).map((s) => s.key);
  const [pending, success, failed] = [keys("pending"), keys("success"), keys("failure")];
  let text = `${pending.length} pending, ${success.length} successful, ${failed.length} failed. `;
  if (pending.length) text += `Pending commit statuses: ${pending.join(", ")}. `;
  if (failed.length) text += `Failed commit statuses: ${failed.join(", ")}. `;
  return { text, pending: pending.length, failed: failed.length };
}

/** Which commit is missing. The hydrator's note means a proposal in one of several environments, see `proposal`. */
function missing(
  { active, proposed }: Omit<Environment, "branch">,
  where: string,
  proposal = shaOf,
): Health | undefined {
  const other = !proposal(proposed) ? "proposed" : undefined;
  const name = !shaOf(active) ? "active" : other;
  return name && health("Progressing", `The ${name} commit DRY SHA is missing or empty${where}.`);
}

/** Which commit is on its way. */
function moving({ active, proposed }: Omit<Environment, "branch">, place: string): Health | undefined {
  if (shaOf(active) === shaOf(proposed)) return undefined;
  return health(
    "Progressing",
    `Promotion in progress${place} from '${short(active)}' to '${short(proposed)}': ${tally(proposed!).text}`,
  );
}

const changeTransferPolicy: HealthCheck = ({ status }) => {
  const open = missing(status, "") ?? moving(status, "");
  if (open) return open;
  const { text, pending, failed } = tally(status.active);
  if (pending || failed)
    return health("Healthy", `Environment is up-to-date, but there are non-successful active commit statuses: ${text}`);
  return health("Healthy", `Environment is up-to-date on commit ${short(status.active)}.`);
};

const promotionStrategy: HealthCheck = ({ status }) => {
  const all: Environment[] = status.environments ?? [];
  if (all.length === 0) return health("Degraded", "Promotion strategy has no environments configured");
  for (const one of all) {
    const gap = missing(one, ` in environment '${one.branch}'`, hydrated);
    if (gap) return gap;
  }
  if (all.some((e) => hydrated(e.proposed) !== hydrated(all[0]!.proposed)))
    return health(
      "Progressing",
      "Not all environments have the same proposed commit SHA. This likely means the hydrator has not run for all environments yet.",
    );
  for (const one of all) {
    const move = moving(one, ` for environment '${one.branch}'`);
    if (move) return health("Progressing", `${move.message}${processed(one)} `);
  }
  const open = all
    .map((e) => ({ branch: e.branch, ...tally(e.active!) }))
    .filter(({ pending, failed }) => pending || failed);
  if (open.length) {
    const list = open
      .map(({ branch, failed, pending }) => `${branch} (${failed} failed, ${pending} pending)`)
      .join(", ");
    return health(
      "Healthy",
      `Environments are up-to-date, but some environments have non-successful commit statuses: ${list}.`,
    );
  }
  return health(
    "Healthy",
    `All environments are up-to-date on commit '${short(all[0]!.active)}'. ${processed(all[0]!)}`,
  );
};

const applications = ({ status }: KubeObject): number => status.applicationsSelected?.length ?? 0;

export const promoter: Checks = {
  "promoter.argoproj.io/ArgoCDCommitStatus": firstOf(
    reconciled(named("Argo CD commit status")),
    when((object) => applications(object) === 0, "Degraded", "Argo CD commit status has no applications configured"),
    when(
      () => true,
      "Healthy",
      (object) => `Argo CD commit status is healthy and is tracking ${applications(object)} applications`,
    ),
  ),
  "promoter.argoproj.io/ChangeTransferPolicy": firstOf(
    reconciled(named("change transfer policy")),
    changeTransferPolicy,
  ),
  "promoter.argoproj.io/PromotionStrategy": firstOf(reconciled(named("promotion strategy")), promotionStrategy),
  "promoter.argoproj.io/CommitStatus": firstOf(reconciled(named("commit status")), ({ status }) =>
    health(
      "Healthy",
      status.sha && status.phase
        ? `Commit status for commit ${status.sha} reports ${status.phase}`
        : "Commit status is healthy",
    ),
  ),
  "promoter.argoproj.io/PullRequest": firstOf(
    reconciled({ ...named("pull request"), types: ["Ready", "Reconciled"] }),
    ({ status }) =>
      health(
        "Healthy",
        status.id && status.state ? `Pull request is ${status.state} as PR ${status.id}` : "Pull request is healthy",
      ),
  ),
  "promoter.argoproj.io/ScmProvider": provider("ScmProvider", "SCM provider", "SCM provider"),
  "promoter.argoproj.io/ClusterScmProvider": provider(
    "ClusterScmProvider",
    "cluster SCM provider",
    "Cluster SCM provider",
  ),
  "promoter.argoproj.io/GitRepository": provider("GitRepository", "Git repository", "Git repository"),
  "promoter.argoproj.io/GitCommitStatus": gate({
    kind: "GitCommitStatus",
    subject: "Git commit validation",
    unknown: "Git commit validation status unknown",
    branches: "Git commit validation",
    passed: "Git commit validation passed",
  }),
  "promoter.argoproj.io/TimedCommitStatus": gate({
    kind: "TimedCommitStatus",
    subject: "Timed commit gate",
    unknown: "Timed commit gate status unknown",
    branches: "Timed commit gate",
    passed: "Timed commit gate satisfied",
  }),
  "promoter.argoproj.io/WebRequestCommitStatus": gate({
    kind: "WebRequestCommitStatus",
    subject: "Web request commit validation",
    unknown: "Web request commit validation unknown",
    branches: "Web request validation",
    passed: "Web request validation passed",
  }),
};
