/** What a reference to a secret begins with: `${secret:SOURCE/PATH#KEY}`. */
export const BEGIN = "${secret:";
/** The escape for these characters. */
export const ESCAPED = `$${BEGIN}`;
const LONGEST = 1_024;
const FORM =
  /^\$\{secret:([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)\/([^\p{Cc}{}#$]{1,512})(?:#([^\p{Cc}{}$]{1,256}))?\}$/u;

/** Source, path and key of a whole reference; undefined when it has another form. */
export function readReference(whole: string): { source: string; path: string; key: string | undefined } | undefined {
  const [, source, path, key] = (whole.length <= LONGEST && FORM.exec(whole)) || [];
  return source === undefined || path === undefined ? undefined : { source, path, key };
}

export const NOT_A_REFERENCE = `"${BEGIN}…" must be \${secret:SOURCE/PATH} or \${secret:SOURCE/PATH#KEY}; write ${ESCAPED} for these characters themselves`;

/** Whether a text holds a reference, also one that is not well formed. */
export const looksLikeReference = (text: string): boolean => text.replaceAll(ESCAPED, "").includes(BEGIN);

/** Whether every reference in a text is well formed. */
function isWellFormed(text: string): boolean {
  return text
    .replaceAll(ESCAPED, "")
    .split(BEGIN)
    .slice(1)
    .every(
      (rest) => rest.includes("}") && readReference(`${BEGIN}${rest.slice(0, rest.indexOf("}") + 1)}`) !== undefined,
    );
}

const SCRIPTS = ["shell.run", "powershell.run"];

/**
 * Why a text may not hold its references; undefined when it may, or has none. References are allowed in free texts only: where a value has a
 * form of its own, a reference cannot be checked against it.
 */
export function referenceFault(
  text: string,
  { kind, at, isFormed }: { kind: string; at: string; isFormed: boolean },
): string | undefined {
  if (!looksLikeReference(text)) return undefined;
  if (SCRIPTS.includes(kind) && at === "/script")
    return "A script is not changed, so that no value can become a command: give the secret in `env` and use the variable.";
  if (isFormed) return "This field has a form of its own and takes no `${secret:…}`.";
  return isWellFormed(text) ? undefined : `${NOT_A_REFERENCE}.`;
}
