import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lives, temporaryFolder, until } from "./testing/temporary.ts";
import { sizeOf, Workspaces } from "./workspace.ts";

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

test("the size is what lies on the disk, without following links, and the count stops when it is enough", async () => {
  const dir = folder();
  writeFileSync(join(dir, "big"), Buffer.alloc(1_000_000));
  symlinkSync("/", join(dir, "everything"));
  mkdirSync(join(dir, "sub"));
  writeFileSync(join(dir, "sub", "more"), Buffer.alloc(500_000));
  const size = await sizeOf(dir);
  expect(size).toBeGreaterThanOrEqual(1_500_000);
  expect(size).toBeLessThan(1_600_000);
  expect(await sizeOf(join(dir, "not-there"))).toBe(0);
});
