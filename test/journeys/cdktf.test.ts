import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { settled, type World, world } from "../world.ts";

let w: World;
let stack: string;

const terraform = async (dir: string, ...args: string[]) => {
  const ran = await w.terraform(dir, ...args);
  if (ran.code !== 0) throw new Error(ran.output);
  return ran.output;
};

/** The CDKTF program makes the same objects as the quickstart's own stack, so that one makes way for it. */
beforeAll(async () => {
  w = await world();
  const out = join(dirname(w.stack), "cdktf.out");
  const main = join(w.root, "examples/02-cdktf/main.ts");
  execFileSync(process.execPath, ["--import", "tsx", main], {
    cwd: w.root,
    env: { ...process.env, CDKTF_OUTDIR: out },
    timeout: 240_000,
  });
  stack = join(out, "stacks/quickstart");
  const variables = JSON.parse(readFileSync(join(dirname(w.stack), "variables.json"), "utf8")) as Record<
    string,
    string
  >;
  const named = Object.entries(variables).map(([name, value]) => [name.replace("TF_VAR_", ""), value]);
  writeFileSync(join(stack, "terraform.tfvars.json"), JSON.stringify(Object.fromEntries(named)), { mode: 0o600 });
  await terraform(w.stack, "destroy", "-auto-approve");
  await terraform(stack, "init");
});
afterAll(async () => {
  await terraform(w.stack, "apply", "-auto-approve");
});

test("the CDKTF program makes the same stack: Synced, Healthy, a second plan empty, no secret, and destroy leaves nothing", async () => {
  expect(await terraform(stack, "apply", "-auto-approve")).toContain("9 added, 0 changed, 0 destroyed");
  expect(settled(await w.application("guestbook"))).toBe(true);
  expect(await terraform(stack, "plan", "-detailed-exitcode", "-out=plan.bin")).toContain("No changes");
  const texts = [await terraform(stack, "show", "-json"), await terraform(stack, "show", "-json", "plan.bin")];
  for (const text of [...texts, readFileSync(join(stack, "terraform.tfstate"), "utf8")]) {
    expect(text).not.toContain(w.gitPassword);
    expect(text).not.toContain("ot1_");
  }
  expect(await terraform(stack, "destroy", "-auto-approve")).toContain("9 destroyed");
  const wide = await w.cluster.kubectl(
    "get",
    "namespaces,clusterroles,clusterrolebindings,customresourcedefinitions",
    "-o",
    "name",
  );
  expect(wide.split("\n").filter((name) => /outpost|argoproj|guestbook/.test(name))).toEqual([]);
});
