import { existsSync } from "node:fs";
import { join } from "node:path";
import { findNode } from "../cluster/node.ts";
import { palette } from "../progress.mjs";
import { run } from "../servers/run.ts";
import { runs } from "./background.ts";
import { contextOf } from "./context.ts";
import { commandLines } from "./lines.ts";
import { adminKeyFile } from "./service.ts";
import type { Memory } from "./state.ts";

const c = palette();

/** The command line, as a person would run it. */
export function outpost(root: string, args: string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  return run(process.execPath, [join(root, "dist/outpost.mjs"), ...args], {
    env: { ...process.env, ...env },
    deadlineMs: 120_000,
  }).then((r) => r.stdout);
}

/** What there is now, and what to try next. */
export async function show(root: string, memory: Memory): Promise<number> {
  const address = memory.state.own?.address ?? `http://outpost.localhost:${memory.state.port}`;
  const kubeconfig = memory.state.own?.kubeconfig ?? join(memory.state.nodeDir ?? "", "kubeconfig");
  const colour = process.stdout.isTTY ? { FORCE_COLOR: "1" } : {};
  const cli = (...args: string[]) => outpost(root, ["--context", contextOf(memory), ...args], colour);
  const heading = (text: string) => console.log(`\n${c.bold(text)}`);

  heading("Applications");
  process.stdout.write(indent(await cli("app", "list")));
  heading("What runs in the cluster");
  process.stdout.write(indent(await pods(memory)));
  heading("The service");
  console.log(`  ${c.cyan(address)}  ${c.dim("the same address in your browser and in the pods")}`);
  console.log(`  Admin key: ${adminKeyFile(memory.path("service")).replace(`${root}/`, "")}`);
  console.log(`  ${c.dim(`the command line is signed in with it, as context \`${contextOf(memory)}\``)}`);
  const alias = `node dist/outpost.mjs${memory.state.isCurrent === false ? ` --context ${contextOf(memory)}` : ""}`;
  const lines = (all: readonly (readonly [string, string])[]) => {
    for (const line of commandLines(all, c.dim)) console.log(line);
  };
  heading("Try next");
  lines([
    [`${alias} app get guestbook`, "what is where, and since when"],
    [`export KUBECONFIG=${kubeconfig}`, "for kubectl"],
    ["kubectl -n guestbook delete deployment guestbook", "and watch it come back"],
    [`${alias} app watch guestbook`, "each change as it happens"],
    [`${alias} task run shell.run --script 'uname -a' --follow`, "runs a task on the delegate"],
    ["npm run quickstart -- --down", "removes everything"],
  ]);
  const { near, far } = gitAddresses(root, memory);
  heading("Change the guestbook, or deploy your own application");
  lines([
    [`git clone "${near("guestbook")}"`, "get the guestbook's files"],
    ["git commit -a -m 'Two replicas' && git push", "in the clone: the cluster follows"],
    [`git push "${near("shop")}" HEAD:main`, "from a folder of yours: makes a repository `shop`"],
    [
      `${alias} repo create shop --agent quickstart --url ${far("shop")} --username outpost --password-file ${passwordFile(root, memory)}`,
      "let the agent read it",
    ],
    [
      `${alias} app create shop --agent quickstart --repository shop --revision main --path . --dest-namespace shop --auto-prune --sync-options CreateNamespace=true`,
      "deploy it",
    ],
    [`${alias} app wait shop`, "until it is Synced and Healthy, or with the reason"],
  ]);
  console.log();
  return 0;
}

const passwordFile = (root: string, memory: Memory): string => memory.path("git-password").replace(`${root}/`, "");

/** The sample Git server as this machine and as the cluster know it. */
function gitAddresses(root: string, memory: Memory) {
  const { own, gitPort } = memory.state;
  const host = own ? new URL(own.address).hostname : undefined;
  return {
    near: (name: string) =>
      `http://outpost:$(cat ${passwordFile(root, memory)})@${host ?? "127.0.0.1"}:${gitPort}/${name}.git`,
    far: (name: string) => `http://${host ?? IN_CLUSTER}:${gitPort}/${name}.git`,
  };
}
/** The name under which the local cluster reaches the sample Git server. */
export const IN_CLUSTER = "git.outpost.test";

async function kubectl(memory: Memory, ...args: string[]): Promise<string> {
  const { own, nodeDir } = memory.state;
  if (own)
    return (
      await run("kubectl", [
        "--kubeconfig",
        own.kubeconfig,
        ...(own.context ? ["--context", own.context] : []),
        ...args,
      ])
    ).stdout;
  return (await findNode(nodeDir!)?.kubectl(...args)) ?? "the cluster does not run\n";
}

function pods(memory: Memory): Promise<string> {
  const state = ".status.containerStatuses[*]";
  const columns = `NAMESPACE:.metadata.namespace,POD:.metadata.name,STATUS:.status.phase,READY:${state}.ready,RESTARTS:${state}.restartCount`;
  return kubectl(memory, "get", "pods", "--all-namespaces", "-o", `custom-columns=${columns}`);
}

/** For an apply that failed: the pods of ours that are not ready, with the last thing each said. */
export async function whatIsNotReady(memory: Memory): Promise<string> {
  const list = await kubectl(
    memory,
    "get",
    "pods",
    "--all-namespaces",
    "-l",
    "app.kubernetes.io/part-of=outpost",
    "-o",
    "json",
  ).catch(() => "");
  if (!list.startsWith("{")) return "";
  type Pod = {
    metadata: { name: string; namespace: string };
    status: { containerStatuses?: { ready: boolean; state?: { waiting?: { reason?: string; message?: string } } }[] };
  };
  const lines: string[] = [];
  for (const { metadata, status: now } of (JSON.parse(list) as { items: Pod[] }).items) {
    if (now.containerStatuses?.every((x) => x.ready)) continue;
    const waiting = now.containerStatuses?.find((x) => x.state?.waiting)?.state?.waiting;
    const name = ["-n", metadata.namespace, metadata.name];
    const said =
      (await kubectl(memory, "logs", "--previous", "--tail=5", ...name).catch(() => "")) ||
      (await kubectl(memory, "logs", "--tail=5", ...name).catch(() => ""));
    lines.push(
      `Pod ${metadata.namespace}/${metadata.name} is not ready${waiting?.reason ? ` (${waiting.reason})` : ""}${said ? `; it said:\n${indent(said.trimEnd())}` : ""}`,
    );
  }
  return lines.join("\n");
}

/** `--status`: which of the parts run. */
export async function status(root: string, memory: Memory): Promise<number> {
  const { state } = memory;
  const node = state.nodeDir ? findNode(state.nodeDir) : undefined;
  const line = (what: string, on: boolean, more = "") =>
    console.log(`${on ? c.green("●") : c.dim("○")} ${what.padEnd(16)} ${on ? more : "not running"}`);
  if (!state.own) line("local cluster", node !== undefined, node && `KUBECONFIG=${node.kubeconfig}`);
  line("service", runs(state.service), state.own?.address ?? `http://outpost.localhost:${state.port}`);
  line("Git server", runs(state.git), `port ${state.gitPort}`);
  const all = runs(state.service) && runs(state.git) && (state.own !== undefined || node !== undefined);
  if (!all) {
    console.log(
      existsSync(memory.path("state.json"))
        ? "\nStart it with: npm run quickstart"
        : "\nThe quickstart has not run here: npm run quickstart",
    );
    return 1;
  }
  return show(root, memory);
}

const indent = (text: string): string => text.replace(/^(?=.)/gm, "  ");
