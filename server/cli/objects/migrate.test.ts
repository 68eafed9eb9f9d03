import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { person } from "../testing.ts";

const dir = mkdtempSync(join(tmpdir(), "outpost-kubeconfig-"));
afterAll(() => rmSync(dir, { recursive: true }));

const COMMANDS = [
  ["agent", "migrate", "--check"],
  ["agent", "migrate", "--check", "--to", "argocd"],
  ["admin", "hand-back"],
];
const CASES: [what: string, text: string | undefined, want: RegExp][] = [
  ["is not there", undefined, /there is no file \S*config; name a kubeconfig with --kubeconfig or KUBECONFIG/],
  ["is empty", "", /kubeconfig/],
  ["is another file", "hello", /kubeconfig/],
  ["is broken YAML", "a: [", /kubeconfig/],
  ["names no context", "clusters: []\n", /kubeconfig names no context/],
  ["names a context that it does not have", "current-context: a\n", /kubeconfig has no context "a"/],
];

test.each(
  COMMANDS.flatMap((argv) => CASES.map(([what, text, want]) => ({ argv, what, text, want, command: argv.join(" ") }))),
)(
  "a kubeconfig that $what is a mistake of the command line in one sentence: $command",
  async ({ argv, text, want }) => {
    const file = join(dir, "config");
    rmSync(file, { force: true });
    if (text !== undefined) writeFileSync(file, text);
    const { exit, out, err } = await person(() => ({ status: 500 })).types(...argv, "--kubeconfig", file);
    expect([exit, out, err]).toEqual([2, "", expect.stringMatching(want)]);
    expect(err).not.toMatch(/\n\s+at |TypeError/);
  },
);
