import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { temporaryFolder } from "../testing/temporary.ts";
import { heldBy, mappedIn } from "./open-files.ts";

const dir = temporaryFolder();
const MIB = 2 ** 20;
const MEMFD: Partial<Record<NodeJS.Architecture, number>> = { x64: 319, arm64: 279 };
const running: ChildProcess[] = [];
afterAll(() => running.map((child) => child.kill("SIGKILL")));

/** A Perl program that says when it is ready, and then waits. */
async function holder(script: string): Promise<number> {
  const child = spawn("perl", ["-e", `$| = 1; ${script}; print "ready"; sleep 600`], {
    cwd: dir,
    stdio: ["ignore", "pipe", "ignore"],
  });
  running.push(child);
  await once(child.stdout!, "data");
  return child.pid!;
}

test("a removed file that is held open counts on the disk, once for all descriptors", async () => {
  const pid = await holder(`open F, ">", "u"; unlink "u"; syswrite F, "x" x 2**20 for 1..8; open G, ">&", F`);
  const { disk, memory } = await heldBy([pid, pid]);
  expect([disk >= 8 * MIB, disk < 9 * MIB, memory]).toEqual([true, true, 0]);
});

test("a file with a name and a file that is not held count nothing here", async () => {
  const pid = await holder(
    `open F, ">", "named"; syswrite F, "x" x 2**20; open G, ">", "gone"; unlink "gone"; close G`,
  );
  expect(await heldBy([pid, 2 ** 30])).toEqual({ disk: 0, memory: 0 });
});

test("a file of memory counts as memory, though no process has its pages, and once", async () => {
  const open = `$fd = syscall(${MEMFD[process.arch]}, $n = "m\\0", 0); open F, ">&=", $fd`;
  const pid = await holder(`${open}; syswrite F, "x" x 2**20 for 1..32; open G, ">&", F`);
  const { disk, memory } = await heldBy([pid, pid]);
  expect([disk, memory >= 32 * MIB, memory < 33 * MIB]).toEqual([0, true, true]);
});

test("what is mapped of files of memory is told by inode", () => {
  const smaps = [
    "7f0000000000-7f0000200000 rw-s 00000000 00:01 1047 /memfd:m (deleted)",
    "Size:               2048 kB",
    "Rss:                1024 kB",
    "7f0000200000-7f0000400000 r--s 00200000 00:01 1047 /memfd:m (deleted)",
    "Rss:                 512 kB",
    "7f0000400000-7f0000600000 r-xp 00000000 08:01 99 /usr/lib/libc.so",
    "Rss:                 700 kB",
    "7f0000600000-7f0000800000 rw-p 00000000 00:00 0 ",
    "Rss:                 300 kB",
  ].join("\n");
  expect([...mappedIn(smaps)]).toEqual([["1047", 1536 * 1024]]);
});
