import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { emptyTrash } from "../task/removal.ts";
import { nest, temporaryFolder } from "../testing/temporary.ts";
import { usageIn } from "./usage.ts";

const root = temporaryFolder();
const MIB = 2 ** 20;
const ROOT = process.getuid?.() === 0;
const USER = 12_345;
let count = 0;
const folder = () => {
  const dir = join(root, String(++count));
  mkdirSync(dir);
  return dir;
};
/** Only a delegate's own removal takes such trees away. */
const removed = (dir: string) => emptyTrash(root, [basename(dir)]);

test("the size is what lies on the disk, without following links", async () => {
  const dir = folder();
  writeFileSync(join(dir, "big"), Buffer.alloc(1_000_000));
  symlinkSync("/", join(dir, "everything"));
  mkdirSync(join(dir, "sub"));
  writeFileSync(join(dir, "sub", "more"), Buffer.alloc(500_000));
  const { bytes, entries } = await usageIn(dir);
  expect(bytes).toBeGreaterThanOrEqual(1_500_000);
  expect([bytes < 1_600_000, entries]).toEqual([true, 4]);
  expect(await usageIn(join(dir, "not-there"))).toEqual({ bytes: 0, entries: 0, deep: false });
});

test("the count stops when it is enough", async () => {
  const dir = folder();
  for (let i = 0; i < 50; i++) writeFileSync(join(dir, String(i)), Buffer.alloc(8_192));
  expect((await usageIn(dir, { entries: 10 })).entries).toBe(11);
  expect((await usageIn(dir, { bytes: 20_000 })).entries).toBeLessThan(10);
});

test("a file in folders deeper than any path counts", async () => {
  const dir = folder();
  nest(dir, 40, 200);
  const { bytes, entries } = await usageIn(dir);
  expect(await removed(dir)).toBe(0);
  expect([bytes >= MIB, entries]).toEqual([true, 41]);
});

test("folders that lie deeper than programs can reach are named", async () => {
  const dir = folder();
  nest(dir, 600, 200);
  const { deep } = await usageIn(dir);
  expect([deep, await removed(dir)]).toEqual([true, 0]);
});

test("folders that their owner, the delegate itself, has closed count", () => {
  const dir = folder();
  for (const mode of [0o300, 0o000]) {
    const closed = join(dir, mode.toString(8));
    mkdirSync(join(closed, "inner"), { recursive: true });
    writeFileSync(join(closed, "inner/big"), Buffer.alloc(MIB));
    if (ROOT) for (const path of [dir, closed, join(closed, "inner")]) chownSync(path, USER, USER);
    chmodSync(join(closed, "inner"), mode);
    chmodSync(closed, mode);
  }
  chmodSync(root, 0o755);
  const program = `const { usageIn } = await import(${JSON.stringify(new URL("./usage.ts", import.meta.url).href)});
    console.log((await usageIn(${JSON.stringify(dir)})).bytes)`;
  const node = [process.execPath, "--import", "tsx", "--input-type=module", "-e", program];
  // Root may look into every folder.
  const other = ROOT ? ["setpriv", `--reuid=${USER}`, `--regid=${USER}`, "--clear-groups", "--", ...node] : node;
  const ran = spawnSync(other[0]!, other.slice(1), { encoding: "utf8", cwd: process.cwd() });
  expect([ran.stderr, Number(ran.stdout) >= 2 * MIB]).toEqual(["", true]);
}, 30_000);
