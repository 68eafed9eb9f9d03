import { quoted } from "../fault.ts";
import { didYouMean } from "../suggest.ts";

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
  if (values)
    return values.includes(value)
      ? undefined
      : `${quoted(text)} is not a value of \`${name}\`. Use one of ${one(values)}.`;
  if (name === "ServerSideDiff" || name === "IncludeMutationWebhook")
    return `\`${name}\` is a compare option: set it in the annotation \`argocd.argoproj.io/compare-options\` of the Application.`;
  const known = Object.keys(SYNC_OPTIONS);
  const hint = didYouMean(
    name,
    known,
    (found) => `\`${found}=${SYNC_OPTIONS[found]!.includes(value) ? value : SYNC_OPTIONS[found]![0]}\``,
  );
  return `There is no sync option \`${name.slice(0, 64)}\`.${hint || ` Use one of ${known.map((word) => `\`${word}\``).join(", ")}.`}`;
}

/** Pairs of which one has no effect beside the other, or stops the sync. */
const EXCLUDE: readonly (readonly [a: string, b: string, why: string])[] = [
  [
    "Replace=true",
    "ServerSideApply=true",
    "`Replace=true` replaces objects and applies none: leave out one of the two",
  ],
  [
    "Force=true",
    "ServerSideApply=true",
    "objects cannot be applied by the server and by force: leave out one of the two",
  ],
];

/** Conflicts between the options of one list: the same option with two values, or two that exclude each other. */
export function contradictions(options: readonly unknown[]): { index: number; detail: string }[] {
  const first = new Map<string, string>();
  return options.flatMap((option, index) => {
    if (typeof option !== "string") return [];
    const name = option.split("=", 1)[0]!;
    const before = first.get(name);
    first.set(name, before ?? option);
    if (before !== undefined && before !== option)
      return [
        { index, detail: `\`${option.slice(0, 64)}\` contradicts \`${before.slice(0, 64)}\`: keep one of them.` },
      ];
    const pair = EXCLUDE.find(
      ([a, b]) =>
        (option === a && options.slice(0, index).includes(b)) || (option === b && options.slice(0, index).includes(a)),
    );
    if (!pair) return [];
    const other = option === pair[0] ? pair[1] : pair[0];
    return [{ index, detail: `\`${option}\` contradicts \`${other}\`: ${pair[2]}.` }];
  });
}
