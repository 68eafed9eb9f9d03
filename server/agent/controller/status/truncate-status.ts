import type {
  Application,
  ApplicationCondition,
  ApplicationStatus,
  ResourceResult,
  ResourceStatus,
} from "../application.ts";

// etcd takes 1.5 MiB of an object; the API server adds who owns which field. A larger one is refused, however often it is sent.
const MAX_BYTES = 1_400_000;
// Other fields of the application may grow by a word, which must not change the choice of rows.
const STEP_BYTES = 16_384;
// Fewer fit, however long their names are, unless what they say is: a refusal may quote a whole object.
const FEW = 100;
const LONG = 4_000;
// The limit for the message of one object if there are many: a kilobyte from each would not fit.
const MAX_MESSAGE = 200;
// The rows that must stay take some hundred bytes for each kind; they always fit between our bound and etcd's.
const SPARE_BYTES = 32_768;

interface Fitted {
  status: ApplicationStatus;
  /** The message about the rows that were left out. */
  condition?: ApplicationCondition;
}

/**
 * A status that etcd takes along with the rest of the application. Where all of it is too much, what went well goes first: the words on it, what
 * an ended sync says of it, and last its resources. At least one of each kind stays, by which its objects are found once Git wants none.
 */
export function truncateStatus(app: Application, next: ApplicationStatus): Fitted {
  const whole = { ...app.status, ...next };
  const { resources = [], operationState: state } = whole;
  const results = state?.syncResult?.resources ?? [];
  const said = [...resources.map(({ health }) => health?.message), ...results.map(({ message }) => message)];
  if (said.length < FEW && !said.some((text) => text !== undefined && text.length > LONG)) return { status: next };
  const { managedFields: _, ...metadata } = app.metadata;
  const over = size({ ...app, metadata, status: whole }) - MAX_BYTES;
  if (over <= 0) return { status: next };

  const fewer: { results: ResourceResult[]; resources: ResourceStatus[] } = {
    results: results.map(terse),
    resources: resources.map(brief),
  };
  const rest = MAX_BYTES - (over + MAX_BYTES - size(results) - size(resources));
  // A running sync must not repeat what it has done: all of its results stay.
  if (state && state.phase !== "Running" && state.phase !== "Terminating")
    fewer.results = most(fewer.results, (row) => (isDone(row) ? 2 : 1), rest - size(fewer.resources));
  const known = new Set<string>();
  const rank = (row: ResourceStatus) => {
    const kind = `${row.group ?? ""}/${row.kind}`;
    if (known.has(kind)) return isWell(row) ? 2 : 1;
    known.add(kind);
    return 0;
  };
  fewer.resources = most(fewer.resources, rank, rest - size(fewer.results));
  const left = [
    ...counted(resources.length - fewer.resources.length, resources.length, "resources"),
    ...counted(results.length - fewer.results.length, results.length, "results of the last sync"),
  ];
  const message = `${left.join(" and ")} are left out: no object may have more than 1.5 MiB; those that are not Synced and Healthy come first`;
  return {
    status: {
      ...next,
      ...(resources.length ? { resources: fewer.resources } : {}),
      ...(state && results.length
        ? { operationState: { ...state, syncResult: { ...state.syncResult, resources: fewer.results } } }
        : {}),
    },
    ...(left.length ? { condition: { type: "ResourcesLeftOutWarning", reason: "StatusTooLarge", message } } : {}),
  };
}

const size = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
const counted = (left: number, all: number, what: string): string[] => (left > 0 ? [`${left} of ${all} ${what}`] : []);

const isWell = ({ status, health }: ResourceStatus): boolean =>
  status === "Synced" && (!health || health.status === "Healthy");
const isDone = ({ status, hookType }: ResourceResult): boolean =>
  !hookType && (status === "Synced" || status === "Pruned");

function terse(row: ResourceResult): ResourceResult {
  const { message, images, ...rest } = row;
  return isDone(row) || message === undefined ? rest : { ...rest, message: cut(message) };
}
const brief = (row: ResourceStatus): ResourceStatus =>
  row.health?.message ? { ...row, health: { ...row.health, message: cut(row.health.message) } } : row;
const cut = (text: string): string =>
  text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE).replace(/[\ud800-\udbff]$/, "")}…` : text;

/** As many rows as fit, the lowest rank first, in their old order. Rows of rank 0 stay even without room. */
function most<T>(rows: readonly T[], rank: (row: T) => number, room: number): T[] {
  const order = rows
    .map((row, i) => ({ i, rank: rank(row), size: size(row) + 1 }))
    .sort((a, b) => a.rank - b.rank || a.i - b.i);
  const taken = new Set<number>();
  let left = Math.floor(room / STEP_BYTES) * STEP_BYTES;
  let spare = SPARE_BYTES;
  for (const { i, rank, size } of order) {
    if (size <= left) left -= size;
    else if (rank === 0 && size <= spare) spare -= size;
    else continue;
    taken.add(i);
  }
  return rows.filter((_, i) => taken.has(i));
}
