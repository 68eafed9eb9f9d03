import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { signIn, signOut } from "./context.ts";
import { commandLines } from "./lines.ts";
import { Memory } from "./state.ts";

const LONG = `node dist/outpost.mjs app create shop --agent quickstart --repository shop --revision main --path . --dest-namespace shop --auto-prune --sync-options CreateNamespace=true`;

test("no line is wider than a terminal, and a long command can be pasted", () => {
  const lines = commandLines([
    ["short", "beside it"],
    [LONG, "deploy it"],
    [
      `git push "http://outpost:$(cat .quickstart/git-password)@127.0.0.1:23666/shop.git" HEAD:main`,
      "makes a repository",
    ],
    [`export KUBECONFIG=/home/ana/.cache/outpost/nodes/${"x".repeat(30)}/kubeconfig`, "for kubectl"],
  ]);
  expect(lines.filter((line) => line.length > 100)).toEqual([]);
  expect(lines[0]).toMatch(/^ {2}short +beside it$/);
  const pasted = lines
    .slice(
      2,
      lines.findIndex((line) => line.includes("makes a repository")),
    )
    .join("\n");
  expect(pasted.replace(/ \\\n +/g, " ").trim()).toBe(LONG);
});

describe("the command line's context", () => {
  let dir: string;
  let contexts: { id: string; endpoint: string; current: boolean }[];
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "outpost-context-"));
  });
  afterEach(() => rmSync(dir, { recursive: true }));
  /** `outpost login`, `logout` and `context`, on a list. */
  const run = async (verb: string, ...args: string[]): Promise<string> => {
    const use = (id: string) => {
      contexts = contexts.map((one) => ({ ...one, current: one.id === id }));
    };
    if (verb === "login") {
      contexts = [...contexts.filter(({ id }) => id !== args[2]), { id: args[2]!, endpoint: args[0]!, current: true }];
      use(args[2]!);
    } else if (verb === "logout") contexts = contexts.filter(({ id }) => id !== args[0]);
    else if (args[0] === "use") use(args[1]!);
    return JSON.stringify({ items: contexts });
  };
  const HERE = "http://outpost.localhost:8080";
  const own = { id: "prod", endpoint: "https://outpost.example", current: true };
  const named = { id: "quickstart", endpoint: "https://other.example", current: false };

  test.each([
    ["none", [], [{ id: "quickstart", endpoint: HERE, current: true }]],
    ["one that is current", [own], [own, { id: "quickstart", endpoint: HERE, current: false }]],
    ["one of its name", [own, named], [own, named, { id: "quickstart-2", endpoint: HERE, current: false }]],
    [
      "its own of before",
      [{ id: "quickstart", endpoint: HERE, current: true }],
      [{ id: "quickstart", endpoint: HERE, current: true }],
    ],
  ])("beside %s leaves what is the user's as it is, and goes again", async (_, before, want) => {
    contexts = before;
    process.env.OUTPOST_QUICKSTART = "state";
    const memory = new Memory(dir, 8080);
    delete process.env.OUTPOST_QUICKSTART;
    await signIn(run, memory, HERE);
    expect(contexts).toEqual(want);
    await signOut(run, memory);
    expect(contexts).toEqual(before.filter(({ endpoint }) => endpoint !== HERE));
  });
});
