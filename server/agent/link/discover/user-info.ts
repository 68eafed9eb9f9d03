// `https://name:password@host` anywhere in a text. A name alone, as in `ssh://git@host`, is no secret, but over HTTP it may be a token.
const WITH_PASSWORD = /\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@:]*:[^\s/@]*@/gi;
const OVER_HTTP = /\b(https?:\/\/|oci:\/\/)[^\s/@]+@/gi;

/** A text without the user names and passwords of the addresses in it. */
export const withoutUserInfo = (text: string): string => text.replace(WITH_PASSWORD, "$1").replace(OVER_HTTP, "$1");

/** A value with all its texts cleaned so; `lost` gets the path of each that had some. */
export function cleaned(value: unknown, lost: Set<string>, path = ""): unknown {
  if (typeof value === "string") {
    const text = withoutUserInfo(value);
    if (text !== value) lost.add(path);
    return text;
  }
  if (Array.isArray(value)) return value.map((item, i) => cleaned(item, lost, join(path, String(i))));
  if (value === null || typeof value !== "object") return value;
  // In Kubernetes null is the same as none.
  const set = Object.entries(value).filter(([, item]) => item !== null);
  return Object.fromEntries(set.map(([key, item]) => [key, cleaned(item, lost, join(path, key))]));
}

const join = (path: string, key: string): string => (path ? `${path}.${key}` : key);
