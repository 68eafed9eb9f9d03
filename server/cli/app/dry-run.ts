import type { Schemas } from "../../../openapi/client.ts";
import { type Colours, printable } from "../../base/colour.ts";
import { table } from "../../base/table.ts";
import { resourceName } from "../objects/nouns.ts";
import type { Session } from "../session/session.ts";
import type { Json } from "../show.ts";

type Result = Schemas["OperationResult"];
type Outcome = NonNullable<Result["outcome"]>;

/** In the order of the table: what goes wrong first, what changes nothing last. */
const WOULD: readonly { outcome: Outcome; word: string; many: string; paint(c: Colours): (text: string) => string }[] =
  [
    { outcome: "Failed", word: "fail", many: "would fail", paint: (c) => c.red },
    { outcome: "Created", word: "create", many: "to create", paint: (c) => c.green },
    { outcome: "Configured", word: "change", many: "to change", paint: (c) => c.yellow },
    { outcome: "Pruned", word: "delete", many: "to delete", paint: (c) => c.red },
    { outcome: "PruneSkipped", word: "leave", many: "to leave", paint: (c) => c.yellow },
    { outcome: "Unchanged", word: "nothing", many: "unchanged", paint: (c) => c.dim },
  ];
const placeOf = ({ outcome }: Result): number => WOULD.findIndex((row) => row.outcome === outcome);

const resultsOf = (object: Json): Result[] => object.status?.operation?.results ?? [];

/** `2 to create, 1 to change, 3 unchanged`. */
export function dryRunSummary(object: Json): string {
  const results = resultsOf(object);
  const counts = WOULD.map(({ outcome, many }) => ({
    many,
    n: results.filter((one) => one.outcome === outcome).length,
  }));
  return counts.flatMap(({ n, many }) => (n > 0 ? [`${n} ${many}`] : [])).join(", ") || "nothing to do";
}

/** RESOURCE, WOULD, MESSAGE: what a sync would do with each object. */
export function showDryRun(s: Session, object: Json): void {
  const results = [...resultsOf(object)].sort((a, b) => placeOf(a) - placeOf(b));
  if (results.length === 0) return;
  const rows = results.map((one) => {
    const row = WOULD[placeOf(one)];
    return [
      printable(resourceName(one)) + (one.hook ? s.c.dim(" (hook)") : ""),
      row ? row.paint(s.c)(row.word) : "-",
      // What is said of an object that goes well says only this again.
      one.outcome === "Failed" || one.outcome === "PruneSkipped" ? printable((one.message ?? "").split("\n")[0]!) : "",
    ];
  });
  s.io.out.write(
    `${table(["RESOURCE", "WOULD", "MESSAGE"].map(s.c.bold), rows, s.io.out.isTTY ? s.io.out.columns : undefined)}\n`,
  );
}
