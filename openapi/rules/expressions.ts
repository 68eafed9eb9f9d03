import { quoted } from "./fault.ts";
import { parseJq } from "./jq-parse.ts";

/** A JSON pointer, RFC 6901. */
export function jsonPointerFault(text: string): string | undefined {
  if (!text.startsWith("/")) return `${quoted(text)} is not a JSON pointer: begin with \`/\`, for example \`/spec/replicas\`.`;
  if (/~(?![01])/.test(text))
    return `${quoted(text)} is not a JSON pointer: write \`~\` as \`~0\` and a \`/\` inside a name as \`~1\`, for example \`/metadata/annotations/example.com~1note\`.`;
  return undefined;
}

// What Argo CD's jq has and this project's engine does not read. Only brackets and quotes are checked there.
const BEYOND = /\b(def|reduce|foreach|import)\b|\bas\s*[[{]|\$(ENV|__loc__)\b|@|\\\(|\?\/\//;

/** A jq path expression. */
export function jqFault(text: string): string | undefined {
  const example = "for example `.spec.template.spec.containers[].image`";
  if (text.trim() === "") return `A jq expression must not be empty: name a path, ${example}.`;
  const open = unbalanced(text);
  if (open) return `The jq expression ${quoted(text)} cannot be read: ${open}. Write a path, ${example}.`;
  if (BEYOND.test(text)) return undefined;
  try {
    parseJq(text);
    return undefined;
  } catch (error) {
    return `The jq expression ${quoted(text)} cannot be read: ${(error as Error).message}. Write a path, ${example}.`;
  }
}

const PAIRS: Readonly<Record<string, string>> = { ")": "(", "]": "[", "}": "{" };

/** What is wrong with the brackets and quotes of an expression. */
function unbalanced(text: string): string | undefined {
  const open: string[] = [];
  const plain = text.replace(/"(?:[^"\\]|\\.)*"/g, "");
  if (plain.includes('"')) return 'a `"` is not closed';
  for (const char of plain) {
    if ("([{".includes(char)) open.push(char);
    else if (char in PAIRS && open.pop() !== PAIRS[char]) return `\`${char}\` closes nothing`;
  }
  return open.length > 0 ? `\`${open.at(-1)}\` is not closed` : undefined;
}

/** A glob: `*`, `?`, `[a-z]`, `{a,b}`. One that cannot be read matches nothing, and is not told of again. */
export function globFault(text: string, braces = true): string | undefined {
  const fault = (what: string) => `The pattern ${quoted(text)} cannot be read: ${what}. Write a glob, for example \`team-*\`.`;
  if (text === "") return "A pattern must not be empty: `*` means all.";
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!;
    if (char === "\\") {
      if (i + 1 === text.length) return fault("nothing follows the last `\\`");
      i++;
    } else if (char === "[") {
      const end = text.indexOf("]", text[i + 1] === "!" || text[i + 1] === "^" ? i + 3 : i + 2);
      if (end < 0) return fault("`[` is not closed");
      i = end;
    } else if (braces && char === "{") depth++;
    else if (braces && char === "}" && depth > 0) depth--;
  }
  return depth > 0 ? fault("`{` is not closed") : undefined;
}

/** A pattern of a project's list, which `!` in front turns around. */
export const denyGlobFault = (text: string): string | undefined => globFault(text.startsWith("!") ? text.slice(1) : text);

/** An address with wildcards: braces are letters there. */
export const addressGlobFault = (text: string): string | undefined => globFault(text.startsWith("!") ? text.slice(1) : text, false);

/** A regular expression in Go's syntax (RE2). */
export function regexFault(text: string): string | undefined {
  const wrong = (what: string) =>
    `The regular expression ${quoted(text)} cannot be read: ${what}. Write it in Go's syntax, for example \`^release-.*$\`.`;
  const look = /\(\?<?[=!]/.exec(text.replace(/\\./g, ""));
  if (look) return wrong(`\`${look[0]}\` looks ahead or behind, which Go's expressions cannot`);
  const script = text
    .replace(/\(\?P</g, "(?<")
    .replace(/\(\?([imsU]+(-[imsU]+)?|-[imsU]+):/g, "(?:")
    .replace(/\(\?[imsU-]+\)/g, "")
    .replace(/\\A/g, "^")
    .replace(/\\[zZ]/g, "$")
    .replace(/\[\[:\^?[a-z]+:\]\]/g, "[a-z]")
    .replace(/\[:\^?[a-z]+:\]/g, "a-z")
    .replace(/\\[pP]([A-Z]|\{\^?[A-Za-z_]+\})/g, "a")
    .replace(/\\Q.*?\\E/g, "a");
  try {
    new RegExp(script);
    return undefined;
  } catch (error) {
    return wrong((error as Error).message.replace(/^Invalid regular expression: \/.*\/\w*: /s, "").toLowerCase());
  }
}
