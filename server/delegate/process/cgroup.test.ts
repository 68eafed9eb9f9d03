import { existsSync as exists, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder, until } from "../testing/temporary.ts";
import { runBounded } from "./bounded.ts";
import { findGroups } from "./cgroup.ts";

const dir = temporaryFolder();
const MIB = 1024 * 1024;
const groups = findGroups();
const possible = groups ? test : test.skip;
const run = (script: string, enter: readonly string[]) =>
  runBounded(
    {
      file: "/bin/sh",
      args: ["-c", script],
      cwd: dir,
      env: { PATH: process.env.PATH!, OUTPOST_WORKSPACE: join(dir, "w") },
    },
    {
      mark: `OUTPOST_WORKSPACE=${join(dir, "w")}`,
      memoryBytes: 0,
      enter,
      write: () => undefined,
      signal: AbortSignal.timeout(20_000),
    },
  );

possible(
  "the kernel holds the memory of a whole tree, though each process is within the bound, and that is known",
  async () => {
    const group = groups!.open({ memoryBytes: 200 * MIB, processes: 0 });
    await run(
      "for i in 1 2 3; do (head -c 100000000 /dev/zero; sleep 1) | tail -c 100000000 > /dev/null & done; wait",
      group.enter,
    );
    expect(group.exceeded()).toBe("MemoryExceeded");
    await group.close();
  },
);

possible("the kernel refuses more processes than allowed, to root too, and nothing else is", async () => {
  const group = groups!.open({ memoryBytes: 0, processes: 20 });
  await run("bomb() { bomb | bomb & }; bomb 2>/dev/null; sleep 1", group.enter);
  expect(group.exceeded()).toBe("ProcessesExceeded");
  await group.close();
  const calm = groups!.open({ memoryBytes: 200 * MIB, processes: 20 });
  expect(await run("true", calm.enter)).toEqual({ kind: "done", value: 0 });
  expect(calm.exceeded()).toBeUndefined();
  await calm.close();
  await until("their folders are gone", () => calm.enter.every((file) => findGroups() && !exists(file)));
});

test("groups that may not be divided are none", () => {
  mkdirSync(join(dir, "cgroup"));
  writeFileSync(join(dir, "self"), "0::/\n");
  expect(findGroups(join(dir, "cgroup"), join(dir, "self"))).toBeUndefined();
  expect(findGroups(join(dir, "none"), join(dir, "none"))).toBeUndefined();
});
