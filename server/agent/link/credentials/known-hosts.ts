/** Lines of one object in the shared `known_hosts` text, between two comments that ssh passes over. */
const begin = (uid: string) => `# outpost.dev/repository ${uid}`;
const END = "# outpost.dev/end";

/** An object's lines. */
export function knownHostsOf(text: string, uid: string): string[] {
  return parted(text, uid).own;
}

/** Puts, replaces or (without lines) takes out an object's lines; everybody else's stay as they are. */
export function withKnownHosts(text: string, uid: string, lines: string | undefined): string {
  const { kept } = parted(text, uid);
  while (kept.at(-1) === "") kept.pop();
  const own = (lines ?? "")
    .split("\n")
    .map((line) => line.trim())
    // A comment could end the section early.
    .filter((line) => line && !line.startsWith("#"));
  if (own.length) kept.push(begin(uid), ...own, END);
  return kept.length ? `${kept.join("\n")}\n` : "";
}

function parted(text: string, uid: string): { own: string[]; kept: string[] } {
  const own: string[] = [];
  const kept: string[] = [];
  let inside = false;
  for (const line of text.split("\n")) {
    if (line === begin(uid)) inside = true;
    else if (inside && line === END) inside = false;
    else (inside ? own : kept).push(line);
  }
  return { own, kept };
}
