import type { Schemas } from "./nouns.ts";

/** What a delegate asks for: an approval of the run, by so many people of a role. */
export type ApprovalWanted = NonNullable<Schemas["DelegateSpec"]["requiresApproval"]>;

/** How many different people have approved: with the role admin, with any role, and of these without the person who started the run. */
export interface ApprovalGiven {
  admins: number;
  all: number;
  otherAdmins: number;
  others: number;
}

/** Whether a task with these approvals may run where that is asked for. */
export function isApproved(wanted: ApprovalWanted | undefined, given: ApprovalGiven | undefined): boolean {
  if (!wanted) return true;
  if (!given) return false;
  const { role, minimum = 1, excludeRequester = false } = wanted;
  const [admins, all] = excludeRequester ? [given.otherAdmins, given.others] : [given.admins, given.all];
  return (role === "editor" ? all : admins) >= minimum;
}

type Decision = NonNullable<Schemas["RunStep"]["decisions"]>[number];

/** A person, as far as the service can tell: the lineage of a key. Decisions of the version before say the key alone. */
export const personOf = ({ by, lineage }: Pick<Decision, "by" | "lineage">): string => lineage ?? by;

/** Counts approvers; undefined without any. Keys of one lineage count as one person, with the highest role. */
export function countApprovals(decisions: readonly Decision[], requester: string): ApprovalGiven | undefined {
  const people = new Map<string, boolean>();
  for (const one of decisions) {
    const person = personOf(one);
    if (one.decision === "approved") people.set(person, people.get(person) === true || one.role === "admin");
  }
  if (people.size === 0) return undefined;
  const count = (fits: (person: string, admin: boolean) => boolean) => [...people].filter((one) => fits(...one)).length;
  return {
    admins: count((_, admin) => admin),
    all: people.size,
    otherAdmins: count((person, admin) => admin && person !== requester),
    others: count((person) => person !== requester),
  };
}

/** For people: "an approval by an admin". */
export function describeApproval({ role, minimum = 1, excludeRequester = false }: ApprovalWanted): string {
  const who =
    minimum === 1
      ? `an approval by ${role === "admin" ? "an admin" : "an editor"}`
      : `approvals by ${minimum} ${role}s`;
  return excludeRequester ? `${who} other than the one who started the run` : who;
}
