import { readJson } from "../../../base/json/nesting.ts";
/** One message of `terraform -json`, as far as it is used. */
export interface UiMessage {
  type?: string;
  "@level"?: string;
  "@message"?: string;
  diagnostic?: Diagnostic;
}

export interface Diagnostic {
  severity: "error" | "warning";
  summary: string;
  detail?: string;
  address?: string;
  range?: { filename: string; start: { line: number } };
}

// The start of a step is skipped, as its end is logged too.
const SILENT = new Set(["version", "refresh_start", "log"]);

/** A line of `terraform -json` in words; any other line is unchanged. */
export function readUi(line: string): { text: string[]; diagnostic?: Diagnostic } {
  let message: UiMessage;
  try {
    message = readJson(line) as UiMessage;
  } catch {
    return { text: [line] };
  }
  if (message === null || typeof message !== "object") return { text: [line] };
  const { type = "", diagnostic } = message;
  if (diagnostic) return { text: tell(diagnostic).split("\n"), diagnostic };
  return { text: SILENT.has(type) ? [] : [message["@message"] ?? ""] };
}

/** `Error: main.tf:3: summary` and the detail below it. */
export function tell(diagnostic: Diagnostic): string {
  const { severity, detail } = diagnostic;
  return `${severity === "error" ? "Error" : "Warning"}: ${placed(diagnostic)}${detail ? `\n${detail}` : ""}`;
}

const placed = ({ range, address, summary }: Diagnostic) =>
  `${range ? `${range.filename}:${range.start.line}: ` : ""}${address ? `${address}: ` : ""}${summary}`;

const MEANINGS: [RegExp, string, string][] = [
  [/Saved plan is stale/, "PlanStale", "the state has changed since the plan was made: plan again"],
  [
    /Saved plan does not match the given state|plan file .*different version/i,
    "PlanStale",
    "plan again, and apply that plan",
  ],
  [
    /Failed to (query available provider packages|install provider)|Could not retrieve|Inconsistent dependency lock file|registry .*unreachable/i,
    "ProviderUnavailable",
    "the delegate fetches providers as its operator says in the file TF_CLI_CONFIG_FILE, passed by OUTPOST_TASK_ENV",
  ],
  [/Failed to (download module|read module)|Module (not installed|source has changed)/, "ModuleUnavailable", ""],
  [
    /No value for required variable|Invalid value for (input )?variable/,
    "VariablesInvalid",
    "give it in /params/variables",
  ],
  [
    /Error (configuring|loading) (the )?backend|Backend (initialization required|configuration changed)|Failed to (get|load) (existing workspaces|state)|Error loading state/i,
    "BackendUnavailable",
    "check the backend and /params/backendConfig",
  ],
];

/** Reason and message of a Terraform that has failed: each error with its place, and what to do. */
export function explainTerraform(errors: readonly Diagnostic[], fallback: string): { reason: string; message: string } {
  const lock = errors.find(({ summary }) => /state lock/i.test(summary));
  if (lock) return { reason: "LockHeld", message: heldLock(lock) };
  const texts = errors
    .slice(0, 5)
    .map((one) => `${placed(one)}${one.detail ? `: ${one.detail.replace(/\s+/g, " ").trim().slice(0, 600)}` : ""}`);
  const said = texts.join("; ");
  const [, reason = fallback, hint = ""] = MEANINGS.find(([pattern]) => pattern.test(said)) ?? [];
  return {
    reason,
    message: `${said || "terraform failed without saying why; the log may tell"}${hint ? `; ${hint}` : ""}`,
  };
}

/** Who holds the lock of a state, since when and for what. */
function heldLock({ summary, detail = "" }: Diagnostic): string {
  const field = (name: string) => new RegExp(`^\\s*${name}:[ \\t]*(\\S.*)$`, "m").exec(detail)?.[1]?.trim();
  const [id, who, operation, created] = ["ID", "Who", "Operation", "Created"].map(field);
  if (!who) return `${summary}: ${detail.replace(/\s+/g, " ").trim().slice(0, 800)}`;
  const since = created ? ` since ${created}` : "";
  const what = operation ? ` for ${operation}` : "";
  return `the state is locked by ${who}${since}${what} (lock ${id}). Wait longer with \`lockTimeoutSeconds\`; if no run holds it any more, \`terraform force-unlock ${id}\` in a shell.run takes the lock away`;
}

/** Errors of commands that have no `-json`: boxes of lines after `Error: `. */
export function readErrors(lines: readonly string[]): Diagnostic[] {
  const found: Diagnostic[] = [];
  for (const raw of lines) {
    const line = raw.replace(/^[╷│╵]\s?/, "");
    const begin = /^(Error|Warning): (.*)$/.exec(line);
    if (begin) found.push({ severity: begin[1] === "Error" ? "error" : "warning", summary: begin[2]!, detail: "" });
    const last = found.at(-1);
    if (!last || begin) continue;
    const place = /^\s*on (\S+) line (\d+)/.exec(line);
    if (place) last.range = { filename: place[1]!, start: { line: Number(place[2]) } };
    else if (!/^\s*\d+: /.test(line)) last.detail = `${last.detail}${line}\n`;
  }
  return found
    .filter(({ severity }) => severity === "error")
    .map((one) => ({ ...one, detail: one.detail?.trim() ?? "" }));
}
