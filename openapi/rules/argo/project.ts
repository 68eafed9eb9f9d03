import { parseCron } from "../cron.ts";
import { parseGoDuration } from "../duration.ts";
import { addressGlobFault, denyGlobFault, globFault, regexFault } from "../expressions.ts";
import { type Fault, isText, type Json, objectIn, objectsIn, quoted, textFault, textFaults } from "../fault.ts";
import { didYouMean } from "../suggest.ts";
import { timeZoneFault } from "../zone.ts";
import { kindFaults } from "./kinds.ts";

const KINDS = [
  "clusterResourceWhitelist",
  "clusterResourceBlacklist",
  "namespaceResourceWhitelist",
  "namespaceResourceBlacklist",
] as const;

/** Errors in the texts of an app project: patterns, schedules, kinds and the policies of roles. */
export function projectFaults(spec: Json): Fault[] {
  const faults = [
    ...textFaults(spec, "sourceRepos", "", addressGlobFault),
    ...textFaults(spec, "sourceNamespaces", "", namespaceFault),
    ...KINDS.flatMap((list) =>
      objectsIn(spec, list, "").flatMap(([one, at]) => [
        ...kindFaults(one, at),
        ...textFault(one, "name", at, globFault),
      ]),
    ),
    ...objectsIn(objectIn(spec, "orphanedResources"), "ignore", "/orphanedResources").flatMap(([one, at]) => [
      ...kindFaults(one, at),
      ...textFault(one, "name", at, globFault),
    ]),
  ];
  for (const [one, at] of [
    ...objectsIn(spec, "destinations", ""),
    ...objectsIn(spec, "destinationServiceAccounts", ""),
  ]) {
    faults.push(...textFault(one, "server", at, addressGlobFault));
    for (const name of ["name", "namespace"])
      faults.push(...textFault(one, name, at, (text) => (text === "" ? undefined : denyGlobFault(text))));
  }
  for (const [one, at] of objectsIn(spec, "syncWindows", "")) faults.push(...windowFaults(one, at));
  for (const [role, at] of objectsIn(spec, "roles", ""))
    faults.push(
      ...textFaults(role, "policies", at, (text) => policyFault(text, isText(role.name) ? role.name : undefined)),
    );
  return faults;
}

/** A glob, or a regular expression between slashes. */
const namespaceFault = (text: string) => (/^\/.+\/$/.test(text) ? regexFault(text.slice(1, -1)) : globFault(text));

function windowFaults(one: Json, at: string): Fault[] {
  return [
    ...textFault(one, "schedule", at, scheduleFault),
    ...textFault(one, "duration", at, (text) =>
      (parseGoDuration(text) ?? 0) > 0 ? undefined : `${quoted(text)} is not a duration: write \`30m\` or \`1h30m\`.`,
    ),
    ...textFault(one, "timeZone", at, timeZoneFault),
    ...["applications", "namespaces", "clusters"].flatMap((list) => textFaults(one, list, at, denyGlobFault)),
  ];
}

/** A schedule of a sync window: five fields. */
export function scheduleFault(text: string): string | undefined {
  const zone = /^(?:CRON_)?TZ=(\S+) /.exec(text)?.[1];
  const fault = zone === undefined || zone === "Local" ? undefined : timeZoneFault(zone);
  if (fault) return fault;
  const cron = parseCron(text);
  return typeof cron === "string"
    ? `The schedule ${quoted(text)} cannot be read: ${cron}. Write five fields, for example \`0 22 * * 1-5\`.`
    : undefined;
}

const RESOURCES = ["applications", "applicationsets", "clusters", "exec", "logs", "projects", "repositories"];
const ACTIONS = ["get", "create", "update", "delete", "sync", "override", "action", "invoke"];
const POLICY = "Write `p, proj:PROJECT:ROLE, applications, sync, PROJECT/*, allow`.";

/** A policy of a role, in Casbin's notation. The project has its name of the agent's namespace there. */
export function policyFault(text: string, role?: string): string | undefined {
  const parts = text.split(",").map((part) => part.trim());
  const wrong = (what: string) => `The policy ${quoted(text)} cannot be used: ${what} ${POLICY}`;
  if (parts.length !== 6 || parts.some((part) => part === ""))
    return wrong(`it has ${parts.length} parts and not six, or an empty one.`);
  const [kind, subject, resource, action, object, effect] = parts as [string, string, string, string, string, string];
  if (kind !== "p") return wrong("it begins with `p`.");
  const [, project, name] = /^proj:([^:]+):([^:]+)$/.exec(subject) ?? [];
  if (project === undefined) return wrong(`the second part is \`proj:PROJECT:ROLE\` and not ${quoted(subject)}.`);
  if (role !== undefined && name !== role)
    return wrong(`it is in the role \`${role}\` and names the role ${quoted(name!)}.`);
  if (resource !== "*" && !RESOURCES.includes(resource))
    return wrong(`there is no resource ${quoted(resource)}.${didYouMean(resource, RESOURCES)}`);
  const verb = action.split("/")[0]!;
  if (!/[*?[{]/.test(verb) && !ACTIONS.includes(verb))
    return wrong(`there is no action ${quoted(action)}.${didYouMean(verb, ACTIONS)}`);
  if (object !== project && !object.startsWith(`${project}/`))
    return wrong(
      `the fifth part is \`${project!.slice(0, 64)}/\` with a name or a pattern, and not ${quoted(object)}.`,
    );
  if (effect !== "allow" && effect !== "deny")
    return wrong(
      `the last part is \`allow\` or \`deny\` and not ${quoted(effect)}.${didYouMean(effect, ["allow", "deny"])}`,
    );
  return undefined;
}
