/**
 * What an application is called among all: by its name, and outside the agent's own namespace `namespace_name`, which no name can be, because
 * none has a `_`.
 */
export const instanceOf = (
  { metadata: { name, namespace } }: { metadata: { name: string; namespace?: string } },
  own: string,
): string => (namespace === undefined || namespace === own ? name : `${namespace}_${name}`);

/** Where an application is that is called so. */
export function placeOfInstance(instance: string, own: string): { namespace: string; name: string } {
  const at = instance.indexOf("_");
  return at < 0
    ? { namespace: own, name: instance }
    : { namespace: instance.slice(0, at), name: instance.slice(at + 1) };
}
