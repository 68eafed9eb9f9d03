/** A label's value; a reference to a scope above can be longer, and then only the service knows it. */
const LONGEST = 63;
const isTemplate = (text: string): boolean => text.includes("{{");

/** What an Application, or a template of them, says of its service and environment: kubectl and Argo CD's own views select by it. */
export function serviceLabels(spec: { service?: string; environment?: string }): Record<string, string> {
  const labels = {
    "deploy.outpost.dev/service": spec.service,
    "deploy.outpost.dev/environment": spec.environment,
  };
  const fits = (entry: [string, string | undefined]): entry is [string, string] =>
    entry[1] !== undefined && (isTemplate(entry[1]) || entry[1].length <= LONGEST);
  return Object.fromEntries(Object.entries(labels).filter(fits));
}
