import type { Schemas } from "../nouns.ts";
import type { Fault } from "../problem.ts";
import { contains, type Scope } from "../scope.ts";

type Spec = Schemas["AppProjectSpec"];

/**
 * Whether applications of a scope may use a project. Without a list a project serves its own scope and all scopes below; with one, its own
 * scope and those that are listed, each with what is below it.
 */
export function serves(project: Scope & { spec: { allowedScopes?: string[] } }, user: Scope): boolean {
  if (project.account !== user.account) return false;
  const { allowedScopes } = project.spec;
  if (allowedScopes === undefined) return contains(project, user);
  if (project.org === user.org && project.project === user.project) return true;
  return user.org !== "" && allowedScopes.some((one) => one === user.org || one === `${user.org}/${user.project}`);
}

/**
 * What is wrong between the fields of a project; `texts.ts` checks its patterns, schedules and policies. What it would silently not do is a
 * fault too: it is there to be relied on.
 */
export function projectFaults(spec: Spec): Fault[] {
  return [
    ...(spec.destinations ?? []).flatMap((one, i) => destinationFaults(one, `/spec/destinations/${i}`)),
    ...(spec.syncWindows ?? []).flatMap((one, i) => windowFaults(one, `/spec/syncWindows/${i}`)),
    ...(spec.destinationServiceAccounts ?? []).flatMap((one, i) =>
      accountFaults(one, `/spec/destinationServiceAccounts/${i}`),
    ),
    ...roleFaults(spec.roles ?? []),
  ];
}

function destinationFaults(one: NonNullable<Spec["destinations"]>[number], at: string): Fault[] {
  const faults: Fault[] = [];
  if (!one.server && !one.name)
    faults.push({
      pointer: `${at}/server`,
      detail: "A destination needs `server` or `name`; `*` means every cluster.",
    });
  for (const field of ["server", "name", "namespace"] as const)
    if (one[field] === "!*")
      faults.push({ pointer: `${at}/${field}`, detail: "`!*` denies everything: leave the destination out." });
  return faults;
}

function windowFaults(one: NonNullable<Spec["syncWindows"]>[number], at: string): Fault[] {
  const faults: Fault[] = [];
  if (!one.applications?.length && !one.namespaces?.length && !one.clusters?.length)
    faults.push({
      pointer: `${at}/applications`,
      detail: "A window needs `applications`, `namespaces` or `clusters`; `*` means all.",
    });
  return faults;
}

function accountFaults(one: NonNullable<Spec["destinationServiceAccounts"]>[number], at: string): Fault[] {
  const faults: Fault[] = [];
  for (const field of ["server", "namespace"] as const)
    if (one[field]?.startsWith("!"))
      faults.push({
        pointer: `${at}/${field}`,
        detail: "`!` has no meaning here: an account is chosen by the first match.",
      });
  if (!/^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?:)?[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(one.defaultServiceAccount))
    faults.push({
      pointer: `${at}/defaultServiceAccount`,
      detail: "It must be `name` or `namespace:name`, without wildcards.",
    });
  return faults;
}

function roleFaults(roles: NonNullable<Spec["roles"]>): Fault[] {
  const names = new Set<string>();
  return roles.flatMap((role, i) => {
    const at = `/spec/roles/${i}`;
    const faults: Fault[] = [];
    if (!/^[A-Za-z0-9]([-_A-Za-z0-9]*[A-Za-z0-9])?$/.test(role.name))
      faults.push({ pointer: `${at}/name`, detail: "A role's name has letters, digits, `-` and `_`." });
    if (names.has(role.name)) faults.push({ pointer: `${at}/name`, detail: "Another role has this name already." });
    names.add(role.name);
    return faults;
  });
}
