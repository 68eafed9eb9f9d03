import { globFault } from "../expressions.ts";
import { type Fault, type Json, quoted, textFault } from "../fault.ts";

/** Kind and API group as the lists of projects and `ignoreDifferences` have them. */
export function kindFaults(of: Json, at: string): Fault[] {
  return [...textFault(of, "group", at, groupFault), ...textFault(of, "kind", at, kindFault)];
}

function groupFault(group: string): string | undefined {
  if (group === "") return undefined;
  if (group === "core" || group === "v1") return `The core API group is the empty text \`""\`, not \`${group}\`.`;
  const version = /^(.*)\/v[0-9]\w*$/.exec(group);
  if (version) return `An API group has no version: write \`${version[1]!.slice(0, 64)}\` instead of ${quoted(group)}.`;
  if (/[\s/]/.test(group))
    return `${quoted(group)} is not an API group: it is a name such as \`apps\` or \`networking.k8s.io\`.`;
  return globFault(group);
}

function kindFault(kind: string): string | undefined {
  const parts = /^([a-z0-9.-]+)\/(?:v[0-9]\w*\/)?([A-Za-z]+)$/.exec(kind);
  if (parts)
    return `Write the API group and the kind apart: \`group\` is \`${parts[1]}\` and \`kind\` is \`${parts[2]}\`.`;
  if (/[\s/]/.test(kind)) return `${quoted(kind)} is not a kind: it is one word such as \`Deployment\`.`;
  return kind === "" ? undefined : globFault(kind);
}
