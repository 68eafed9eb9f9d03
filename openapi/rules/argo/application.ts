import { parseGoDuration } from "../duration.ts";
import { jqFault, jsonPointerFault } from "../expressions.ts";
import { type Fault, type Json, objectIn, objectsIn, quoted, textFault, textFaults } from "../fault.ts";
import { labelFaults } from "../labels.ts";
import { kindFaults } from "./kinds.ts";
import { sourceFaults } from "./sources.ts";
import { contradictions, syncOptionFault } from "./sync-options.ts";

/** Errors in the texts of an application. `skip` texts are known only later: those of a set's template. */
export function applicationFaults(spec: Json, at = "", skip: (text: string) => boolean = () => false): Fault[] {
  const unless = (check: (text: string) => string | undefined) => (text: string) =>
    skip(text) ? undefined : check(text);
  const policy = objectIn(spec, "syncPolicy");
  const metadata = objectIn(policy, "managedNamespaceMetadata");
  const faults = textFaults(policy, "syncOptions", `${at}/syncPolicy`, unless(syncOptionFault));
  if (Array.isArray(policy.syncOptions) && faults.length === 0)
    for (const { index, detail } of contradictions(
      policy.syncOptions.map((one) => (typeof one === "string" && skip(one) ? undefined : one)),
    ))
      faults.push({ pointer: `${at}/syncPolicy/syncOptions/${index}`, detail });
  for (const name of ["duration", "maxDuration"])
    faults.push(
      ...textFault(
        objectIn(objectIn(policy, "retry"), "backoff"),
        name,
        `${at}/syncPolicy/retry/backoff`,
        unless(backoffFault),
      ),
    );
  faults.push(...labelFaults(objectIn(metadata, "labels"), `${at}/syncPolicy/managedNamespaceMetadata/labels`, skip));
  for (const [rule, here] of objectsIn(spec, "ignoreDifferences", at)) faults.push(...ignoreFaults(rule, here, skip));
  if (typeof spec.source === "object" && spec.source !== null)
    faults.push(...sourceFaults(spec.source as Json, `${at}/source`, skip));
  for (const [source, here] of objectsIn(spec, "sources", at)) faults.push(...sourceFaults(source, here, skip));
  return faults;
}

/** Errors in one rule of `ignoreDifferences`. */
export function ignoreFaults(rule: Json, at: string, skip: (text: string) => boolean = () => false): Fault[] {
  const unless = (check: (text: string) => string | undefined) => (text: string) =>
    skip(text) ? undefined : check(text);
  return [
    ...(skip(String(rule.kind)) || skip(String(rule.group)) ? [] : kindFaults(rule, at)),
    ...textFaults(rule, "jsonPointers", at, unless(jsonPointerFault)),
    ...textFaults(rule, "jqPathExpressions", at, unless(jqFault)),
    ...textFaults(rule, "managedFieldsManagers", at, (text) =>
      text.trim() === "" || /^\s|\s$/.test(text)
        ? `${quoted(text)} is not the name of a field manager: it is a name such as \`kube-controller-manager\`, without blanks around it.`
        : undefined,
    ),
  ];
}

function backoffFault(text: string): string | undefined {
  // A number alone counts seconds.
  if (/^\d+$/.test(text) || parseGoDuration(text) !== undefined) return undefined;
  // What the contract's own durations allow besides.
  if (/^\d+d$/.test(text)) return undefined;
  return `${quoted(text)} is not a duration: write \`5s\`, \`3m\` or \`1h30m\`.`;
}
