/** Lines of one repository in the shared `known_hosts` text, between two comments that ssh passes over. */
const begin = (uid: string) => `# outpost.dev/repository ${uid}`;
const END = "# outpost.dev/end";

/** Puts, replaces or (without lines) takes out a repository's lines; everybody else's stay as they are. */
export function withKnownHosts(text: string, uid: string, lines: string | undefined): string {
  const kept: string[] = [];
  let inside = false;
  for (const line of text.split("\n")) {
    if (line === begin(uid)) inside = true;
    else if (inside && line === END) inside = false;
    else if (!inside) kept.push(line);
  }
  while (kept.at(-1) === "") kept.pop();
  const own = (lines ?? "")
    .split("\n")
    .map((line) => line.trim())
    // A comment could end the section early.
    .filter((line) => line && !line.startsWith("#"));
  if (own.length) kept.push(begin(uid), ...own, END);
  return kept.length ? `${kept.join("\n")}\n` : "";
}
