import { quoted } from "./fault.ts";
import { didYouMean } from "./suggest.ts";

const FLAG = ["true", "false"] as const;

/** Every sync option and its values. Argo CD passes over another one without a word, and the sync does something else than was meant. */
export const SYNC_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  ApplyOutOfSyncOnly: FLAG,
  ClientSideApplyMigration: FLAG,
  CreateNamespace: FLAG,
  Delete: [...FLAG, "confirm"],
  FailOnSharedResource: FLAG,
  Force: FLAG,
  Prune: [...FLAG, "confirm"],
  PruneLast: FLAG,
  PrunePropagationPolicy: ["foreground", "background", "orphan"],
  Replace: FLAG,
  RespectIgnoreDifferences: FLAG,
  ServerSideApply: FLAG,
  SkipDryRunOnMissingResource: FLAG,
  Validate: FLAG,
};

export function syncOptionFault(text: string): string | undefined {
  const [name = "", value = ""] = text.split("=", 2);
  // Its own names only: every object also has a `constructor`.
  const values = Object.hasOwn(SYNC_OPTIONS, name) ? SYNC_OPTIONS[name] : undefined;
  const one = (of: readonly string[]) => of.map((word) => `\`${name}=${word}\``).join(", ");
  if (values) return values.includes(value) ? undefined : `${quoted(text)} is not a value of \`${name}\`. Use one of ${one(values)}.`;
  if (name === "ServerSideDiff" || name === "IncludeMutationWebhook")
    return `\`${name}\` is a compare option: set it in the annotation \`argocd.argoproj.io/compare-options\` of the Application.`;
  const known = Object.keys(SYNC_OPTIONS);
  const hint = didYouMean(name, known, (found) => `\`${found}=${SYNC_OPTIONS[found]!.includes(value) ? value : SYNC_OPTIONS[found]![0]}\``);
  return `There is no sync option \`${name.slice(0, 64)}\`.${hint || ` Use one of ${known.map((word) => `\`${word}\``).join(", ")}.`}`;
}
