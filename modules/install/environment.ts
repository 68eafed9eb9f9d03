import type { InstallValues } from "./values.ts";

/** A delegate's settings as variables, without the token: each value is one line. */
export function environmentOf(
  values: InstallValues,
  more: Record<string, string | undefined> = {},
): [string, string][] {
  const { id, account, endpoint, tags, description, httpsProxy, noProxy } = values;
  const all: Record<string, string | undefined> = {
    OUTPOST_ENDPOINT: endpoint,
    DELEGATE_NAME: id,
    ACCOUNT_ID: account,
    DELEGATE_TAGS: tags?.length ? tags.join(",") : undefined,
    // For people only, and files of variables have no way to write a line's end.
    DELEGATE_DESCRIPTION: description?.replaceAll(/\s+/g, " ").trim() || undefined,
    HTTPS_PROXY: httpsProxy,
    NO_PROXY:
      httpsProxy === undefined
        ? undefined
        : ["localhost", "127.0.0.1", ...(noProxy ?? "").split(",").filter(Boolean)].join(","),
    ...more,
  };
  return Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined);
}

/** A text as one word of a POSIX shell. */
export const shellWord = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** A text as one literal of PowerShell. Its typographic quotes end a literal as the plain one does. */
export const powershellWord = (text: string): string => `'${text.replaceAll(/['\u2018-\u201b]/g, "$&$&")}'`;
