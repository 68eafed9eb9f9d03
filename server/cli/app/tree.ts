import type { Command } from "commander";
import type { Schemas } from "../../../openapi/client.ts";
import { type Colours, printable } from "../../base/colour.ts";
import { table } from "../../base/table.ts";
import { follow } from "../objects/follow.ts";
import { nounOf, resourceName } from "../objects/nouns.ts";
import type { Io } from "../output/io.ts";
import { type Session, verb } from "../session/session.ts";
import { field, say, showAs, state } from "../show.ts";

type Tree = Schemas["ResourceTree"];
type Node = Schemas["ResourceNode"];

/** `app tree`: what it deployed, and what came of that, drawn as a tree. */
export function treeVerb(app: Command, io: Io): void {
  app
    .command("tree <id>")
    .summary("what it deployed, and what came of that")
    .option("-w, --watch", "draw it again at each change, until Ctrl-C")
    .action(
      verb(io, async (s, id: string, flags: { watch?: boolean }) => {
        await once(s, id);
        if (!flags.watch) return;
        for await (const change of follow(await s.api(), nounOf("app")!, { id }, s.io.signal)) {
          if (change.event === "delete") return say(s, s.e.dim(`app ${id} was deleted`));
          if (change.event !== "put" || change.first) continue;
          // A terminal shows the newest alone; a file keeps them all.
          s.io.out.write(s.io.out.isTTY ? "\u001b[H\u001b[2J" : "\n");
          await once(s, id);
        }
      }),
    );
}

async function once(s: Session, id: string): Promise<void> {
  const tree = await (await s.api()).call<Tree>("getApplicationTree", { path: { id } });
  if (s.format === "name") {
    for (const node of tree.nodes) s.io.out.write(`${printable(resourceName(node))}\n`);
    return;
  }
  if (tree.nodes.length === 0 && s.format !== "json" && s.format !== "yaml") say(s, s.e.dim("nothing is deployed"));
  else showAs(s, tree, () => drawTree(tree, s.c));
  if (s.format === "json" || s.format === "yaml") return;
  if (tree.truncated) say(s, s.e.yellow("there are more objects than are shown"));
  for (const { group, kind, namespace, reason } of tree.unseen ?? [])
    say(
      s,
      s.e.yellow(
        `not looked for: ${[group, kind].filter(Boolean).join("/")}${namespace ? ` in ${namespace}` : ""} (${reason})`,
      ),
    );
}

/** What stands below a node's own mark. */
const INDENT = { "": "", "└─ ": "   ", "├─ ": "│  " };

/** Each object on a line below the one it came of; one with two parents is below the first. */
export function drawTree(tree: Tree, c: Colours): string {
  const known = new Set(tree.nodes.map((node) => node.uid).filter(Boolean));
  const parentOf = (node: Node) => node.parents?.find((uid) => known.has(uid) && uid !== node.uid);
  const below = new Map<string | undefined, Node[]>();
  for (const node of tree.nodes) {
    const parent = parentOf(node);
    const siblings = below.get(parent);
    if (siblings) siblings.push(node);
    else below.set(parent, [node]);
  }
  const rows: string[][] = [];
  const draw = (node: Node, lead: string, mark: keyof typeof INDENT) => {
    rows.push([
      `${c.dim(lead + mark)}${named(node, c)}`,
      state(node.status, c),
      state(node.health, c),
      info(node),
      field(node, "message"),
    ]);
    const children = (node.uid && below.get(node.uid)) || [];
    const next = lead + INDENT[mark];
    for (const [i, child] of children.entries()) draw(child, next, i === children.length - 1 ? "└─ " : "├─ ");
  };
  for (const root of below.get(undefined) ?? []) draw(root, "", "");
  const text = table(["RESOURCE", "SYNC", "HEALTH", "INFO", "MESSAGE"].map(c.bold), rows);
  if (!tree.orphans?.length) return text;
  const orphans = tree.orphans.map((node) => `  ${printable(resourceName(node))}`).join("\n");
  return `${text}\n\n${c.bold("Orphans")} ${c.dim("(of the namespace, and of no application)")}\n${orphans}`;
}

const named = (node: Node, c: Colours): string => {
  const kind = [node.group, node.kind].filter(Boolean).join("/");
  return `${printable(kind)} ${c.bold(printable(node.name))}${node.hook ? c.dim(" (hook)") : ""}`;
};
const info = (node: Node): string =>
  (node.info ?? []).map(({ name, value }) => printable(`${name} ${value}`)).join(", ");
