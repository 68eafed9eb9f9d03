import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { removeLeftovers, sharedPlaces } from "./leftovers.ts";

const [MINE, OTHER] = [60_998, 60_999];
const ROOT = process.getuid?.() === 0;
const asRoot = ROOT ? test : test.skip;
const work = "/nonexistent";
let dir: string;
beforeEach(() => {
  dir = mkdtempSync("/tmp/leftovers-");
  chmodSync(dir, 0o755);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function place(name: string): string {
  const path = join(dir, name);
  mkdirSync(path);
  chmodSync(path, 0o1777);
  return path;
}
function folder(path: string, uid: number, mode: number): string {
  mkdirSync(path);
  chownSync(path, uid, uid);
  chmodSync(path, mode);
  return path;
}
function file(path: string, uid: number): string {
  writeFileSync(path, "x");
  chownSync(path, uid, uid);
  return path;
}

asRoot(
  "folders of another task that cannot be looked into, however many, keep nothing from being removed",
  async () => {
    const [crowded, shared] = [place("crowded"), place("shared")];
    for (let i = 0; i < 6_000; i++) folder(join(crowded, `${i}-${"x".repeat(200)}`), OTHER, 0o700);
    const mine = file(join(shared, "mine"), MINE);
    expect([await removeLeftovers(MINE, work, { places: [crowded, shared] }), existsSync(mine)]).toEqual([true, false]);
  },
);

asRoot(
  "closed folders with files in them are removed, and what another task's closed folder keeps is told of",
  async () => {
    const shared = place("shared");
    const closed = folder(join(shared, "closed"), MINE, 0o700);
    file(join(folder(join(closed, "inner"), MINE, 0o700), "file"), MINE);
    for (const path of [join(closed, "inner"), closed]) chmodSync(path, 0);
    const theirs = folder(join(shared, "theirs"), OTHER, 0o777);
    file(join(theirs, "mine"), MINE);
    chmodSync(theirs, 0o700);
    expect([await removeLeftovers(MINE, work, { places: [shared] }), existsSync(closed)]).toEqual([false, false]);
    // It goes with the folder that it is in.
    expect([await removeLeftovers(OTHER, work, { places: [shared] }), existsSync(theirs)]).toEqual([true, false]);
    expect(await removeLeftovers(MINE, work, { places: [shared] })).toBe(true);
  },
);

test("a folder with the sticky bit that every user may write to is a shared place, whatever its name", () => {
  const crash = place("crash");
  expect([sharedPlaces([dir]).includes(crash), sharedPlaces([dir]).includes("/tmp")]).toEqual([true, true]);
});

asRoot("a kernel without System V has nothing of it to remove", async () => {
  expect(await removeLeftovers(MINE, work, { places: [place("shared")], lists: join(dir, "absent") })).toBe(true);
});

asRoot("the delegate's own folder is left alone where it lies in a shared place", async () => {
  const shared = place("shared");
  const own = join(shared, "work[1]");
  mkdirSync(own);
  const kept = file(join(folder(join(own, "task"), MINE, 0o700), "kept"), MINE);
  expect([await removeLeftovers(MINE, own, { places: [shared] }), existsSync(kept)]).toEqual([true, true]);
});

asRoot("a link that a task leaves is removed, and not what it leads to", async () => {
  const shared = place("shared");
  const kept = folder(join(dir, "kept"), MINE, 0o700);
  file(join(kept, "file"), MINE);
  symlinkSync(kept, join(shared, "link"));
  lchownSync(join(shared, "link"), MINE, MINE);
  expect([await removeLeftovers(MINE, work, { places: [shared] }), existsSync(join(kept, "file"))]).toEqual([
    true,
    true,
  ]);
});
