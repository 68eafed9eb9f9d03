import { spawn, spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lives, nest, temporaryFolder, until } from "./testing/temporary.ts";
import { type Workspace, Workspaces } from "./workspace.ts";

const root = temporaryFolder();
let count = 0;
const folder = () => {
  const dir = join(root, String(++count));
  mkdirSync(dir);
  return dir;
};

test("each attempt has folders of its own; what an ended one left stays until the next begins", async () => {
  const dir = folder();
  const spaces = new Workspaces(dir);
  await spaces.start();
  const one = spaces.open({ task: "t-1", fence: 1 });
  const two = spaces.open({ task: "t-1", fence: 2 });
  expect(readdirSync(one.dir)).toEqual(["home", "tmp", "work"]);
  writeFileSync(join(one.work, "kept"), "x");
  spaces.close(one);
  expect(existsSync(join(one.work, "kept"))).toBe(true);
  const three = spaces.open({ task: "../../etc", fence: 1 });
  await spaces.cleared;
  expect([one, two, three].map(({ dir }) => existsSync(dir))).toEqual([false, true, true]);
  expect(three.dir.startsWith(`${dir}/tasks/`) && !three.dir.includes("..")).toBe(true);
  expect(readdirSync(join(dir, "trash"))).toEqual([]);
});

test("a delegate that starts ends and clears what one before it left", async () => {
  const dir = folder();
  const before = new Workspaces(dir);
  await before.start();
  const left = before.open({ task: "t-2", fence: 1 });
  mkdirSync(join(left.work, "closed"));
  writeFileSync(join(left.work, "closed", "file"), "x");
  chmodSync(join(left.work, "closed"), 0o500);
  const [name, value] = left.mark.split("=") as [string, string];
  const child = spawn("sleep", ["60"], { env: { PATH: process.env.PATH, [name]: value }, stdio: "ignore" });
  const after = new Workspaces(dir);
  await until("its start", () => child.pid !== undefined);
  expect(await after.start()).toBe(1);
  await after.cleared;
  await until("the end of what ran", () => !lives(child.pid!));
  expect([readdirSync(join(dir, "tasks")), readdirSync(join(dir, "trash"))]).toEqual([[], []]);
});

test("a full disk is cleaned of what ended tasks left, before the next one begins", async () => {
  const dir = folder();
  const spaces = new Workspaces(dir);
  await spaces.start();
  const [ended, running] = [1, 2].map((fence) => spaces.open({ task: "t-3", fence })) as [Workspace, Workspace];
  writeFileSync(join(ended.work, "left"), "x");
  spaces.close(ended);
  spaces.tidy(false);
  expect(existsSync(join(ended.work, "left"))).toBe(true);
  spaces.tidy(true);
  await spaces.cleared;
  expect([existsSync(ended.dir), existsSync(running.work), readdirSync(join(dir, "trash"))]).toEqual([false, true, []]);
});

test("what a killed delegate left half removed goes without a task", async () => {
  const dir = folder();
  const spaces = new Workspaces(dir);
  await spaces.start();
  mkdirSync(join(dir, "trash/abc/d"), { recursive: true });
  spaces.tidy(false);
  await spaces.cleared;
  expect(readdirSync(join(dir, "trash"))).toEqual([]);
});

test("a tree deeper than any path, with closed folders in it, is removed", async () => {
  const dir = folder();
  const spaces = new Workspaces(dir);
  await spaces.start();
  const left = spaces.open({ task: "t-4", fence: 1 });
  nest(left.work, 40, 200);
  chmodSync(join(left.work, "d".repeat(200)), 0o100);
  spaces.close(left);
  spaces.tidy(true);
  await spaces.cleared;
  expect([readdirSync(join(dir, "tasks")), readdirSync(join(dir, "trash"))]).toEqual([[], []]);
});

// Root walks through closed folders: only another user is locked out.
test("folders that a task of the same user has closed are open again for the next one", async () => {
  const dir = folder();
  const source = new URL("./workspace.ts", import.meta.url).href;
  const program = `
    import { chmodSync, statSync, writeFileSync } from "node:fs";
    const { Workspaces } = await import(${JSON.stringify(source)});
    if (process.getuid() === 0) process.setuid(12345);
    const work = ${JSON.stringify(join(dir, "outer/work"))};
    const spaces = new Workspaces(work);
    await spaces.start();
    writeFileSync(work + "/identity.json", "x", { mode: 0o600 });
    chmodSync(work + "/identity.json", 0o644);
    for (const each of [work + "/tasks", work + "/trash", work, ${JSON.stringify(join(dir, "outer"))}]) chmodSync(each, 0);
    spaces.open({ task: "t", fence: 1 });
    process.stdout.write((statSync(work + "/identity.json").mode & 0o777).toString(8));`;
  chmodSync(root, 0o755);
  mkdirSync(join(dir, "outer/work"), { recursive: true });
  if (process.getuid?.() === 0) for (const each of ["outer", "outer/work"]) chownSync(join(dir, each), 12_345, 12_345);
  const ran = spawnSync(process.execPath, ["--import", "tsx", "--input-type=module", "-e", program], {
    encoding: "utf8",
  });
  expect([ran.stderr, ran.stdout]).toEqual(["", "600"]);
});
