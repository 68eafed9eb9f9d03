import { createHash } from "node:crypto";
import { chmodSync, chownSync, type Dirent, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { jest } from "@jest/globals";
import { hostile, publicFolder, ROOT, WAYS_HERE } from "../testing/jail.ts";

/** Places that all programs of a machine share: what a task leaves there, and whether two tasks meet. */
jest.setTimeout(150_000);
const dir = publicFolder();

const walk = (path: string, depth: number): string[] => {
  let entries: Dirent[] = [];
  try {
    entries = readdirSync(path, { withFileTypes: true });
  } catch {
    // It went away.
  }
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(path, name));
  return [...folders, ...(depth ? folders.flatMap((each) => walk(each, depth - 1)) : [])];
};
/** Folders that every user may write to; the machine's own ones, and not those of other tests. */
const OPEN = ["/", "/dev", "/run", "/var"]
  .flatMap((root) => walk(root, root === "/" ? 0 : 2))
  .filter((path) => {
    try {
      return (statSync(path).mode & 0o002) !== 0;
    } catch {
      return false;
    }
  });

const CALLS = `
my $key = oct "0x" . substr $ENV{KEY}, 0, 7;
sub said { print "$_[0]\\n" if $_[1] }
`;
/** Leaves something in each place and says what it could. */
const LEAVE = `
export KEY=$(printf %s "$TOKEN" | md5sum)
for at in ${OPEN.join(" ")}; do { echo x > "$at/$TOKEN" && mkdir -p "$at/$TOKEN.d/closed" && chmod 777 "$at/$TOKEN" && chmod 0 "$at/$TOKEN.d/closed"; } 2>/dev/null; done
perl -e '${CALLS}
  shmget($key, 4096, 01666); semget($key, 1, 01666); msgget($key, 01666);
  shmctl(shmget($key, 4096, 0666) // -1, 1, pack("x4II x4 S x200", 77, 77, 0666));
  syscall(240, my $name = $ENV{TOKEN}, 0102, 0666, 0) if "${process.arch}" eq "x64"' 2>/dev/null
perl -e 'use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0); bind($s, pack("Sx", AF_UNIX) . "$ENV{TOKEN}") and listen($s, 5); $| = 1; print "ready\\n"; sleep 100 if $ENV{STAYS}'
`;
/** Outside of /tmp, so that a task has a /tmp of its own where mounts are made. Only root can make a folder there. */
function elsewhere(way: string): Record<string, string> {
  if (!ROOT || !way.includes("mount")) return {};
  const path = mkdtempSync("/opt/shared-");
  outside.push(path);
  chmodSync(path, 0o755);
  if (!way.startsWith("uid")) chownSync(path, 12_345, 12_345);
  return { HOSTILE_WORK_DIR: join(path, "work") };
}
const outside: string[] = [];
afterAll(() => outside.forEach((path) => void rmSync(path, { recursive: true, force: true })));

const MEET = `
export KEY=$(printf %s "$TOKEN" | md5sum)
for at in ${OPEN.join(" ")}; do [ ! -e "$at/$TOKEN" ] || echo "MET in $at"; done
perl -e '${CALLS}
  said("MET shm", defined shmget($key, 0, 0)); said("MET sem", defined semget($key, 0, 0)); said("MET msg", defined msgget($key, 0));
  said("MET mq", "${process.arch}" eq "x64" && syscall(240, my $name = $ENV{TOKEN}, 0, 0, 0) >= 0);
  use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0); said("MET socket", connect($s, pack("Sx", AF_UNIX) . "$ENV{TOKEN}"))'
echo end`;

const left = (token: string): string[] => {
  const key = String(Number.parseInt(createHash("md5").update(token).digest("hex").slice(0, 7), 16));
  const inKernel = (kind: string) =>
    readFileSync(`/proc/sysvipc/${kind}`, "utf8")
      .split("\n")
      .some((row) => row.trim().split(/\s+/)[0] === key);
  return [
    ...OPEN.filter((path) => readdirSync(path).some((name) => name.startsWith(token))),
    ...["shm", "sem", "msg"].filter(inKernel),
  ];
};
let count = 0;
const newToken = () => `shared-${process.pid}-${++count}`;

test("the machine has shared places to look at", () =>
  expect(OPEN).toEqual(expect.arrayContaining(["/tmp", "/dev/shm"])));

test.each(WAYS_HERE)("%s: nothing of a task is left in a shared place", async (way) => {
  const token = newToken();
  const got = await hostile(dir, way, LEAVE, { ...elsewhere(way), HOSTILE_TOKEN: token });
  expect([got.level, got.lines.at(-1), left(token)]).toEqual([way, "ready", []]);
});

// Without Landlock and mounts files have no more than their modes, and the delegate says so.
test.each(WAYS_HERE)(
  "%s: two tasks at once do not meet in a shared place, or the delegate says that they can",
  async (way) => {
    const token = newToken();
    const beside = `export STAYS=1; ${LEAVE}`;
    const got = await hostile(dir, way, MEET, { ...elsewhere(way), HOSTILE_TOKEN: token, HOSTILE_BESIDE: beside });
    const met = got.lines.filter((line) => line.startsWith("MET"));
    const isSaid = got.findings.find(({ name }) => name === "shared")?.on === false;
    expect([got.lines.at(-1), isSaid]).toEqual(["end", way === "uid"]);
    expect(met.filter((line) => !isSaid || !line.startsWith("MET in /"))).toEqual([]);
    expect(left(token)).toEqual([]);
  },
);
