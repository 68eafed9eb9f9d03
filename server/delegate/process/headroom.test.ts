import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SILENT } from "../../link/log.ts";
import { temporaryFolder } from "../testing/temporary.ts";
import { memoryOf, Resources } from "./headroom.ts";

const dir = temporaryFolder();
const GIB = 2 ** 30;

function fake(name: string, files: Record<string, string>): [string, string] {
  const at = join(dir, name);
  const all = { "proc/meminfo": "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n", ...files };
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(join(at, path, ".."), { recursive: true });
    writeFileSync(join(at, path), text);
  }
  return [join(at, "cgroup"), join(at, "proc")];
}

test.each<[string, Record<string, string>, { free: number; total: number }]>([
  ["the machine's where no group bounds it", { "proc/self/cgroup": "0::/\n" }, { free: 4 * GIB, total: 8 * GIB }],
  [
    "a container's with cgroup v2, its file cache counted as free",
    {
      "proc/self/cgroup": "0::/\n",
      "cgroup/memory.max": `${2 * GIB}\n`,
      "cgroup/memory.current": `${1.5 * GIB}\n`,
      "cgroup/memory.stat": `anon 5\ninactive_file ${GIB / 2}\n`,
    },
    { free: GIB, total: 2 * GIB },
  ],
  [
    "a group below the root with cgroup v1",
    {
      "proc/self/cgroup": "4:memory:/a/b\n0::/\n",
      "cgroup/memory/a/b/memory.limit_in_bytes": `${GIB}\n`,
      "cgroup/memory/a/b/memory.usage_in_bytes": `${GIB}\n`,
    },
    { free: 0, total: GIB },
  ],
  [
    "no bound in words",
    { "proc/self/cgroup": "0::/\n", "cgroup/memory.max": "max\n", "cgroup/memory.current": "5\n" },
    { free: 4 * GIB, total: 8 * GIB },
  ],
])("memory left is %s", (name, files, want) => {
  expect(memoryOf(...fake(name.replaceAll(/\W/g, "-"), files))).toEqual(want);
});

test("what is left is measured, and a threshold makes it full with a constant for the reason", async () => {
  const said: string[] = [];
  const log = { ...SILENT, error: (_: object, message: string) => void said.push(message) };
  const free = new Resources({ dir, log });
  const busy = new Resources({ dir, memoryThreshold: 1, log });
  await Promise.all([free.ready, busy.ready]);
  free.stop();
  busy.stop();
  expect(free.now).toEqual({
    cpuPercent: expect.any(Number),
    memoryMiB: expect.any(Number),
    diskMiB: expect.any(Number),
  });
  expect([busy.full, said]).toEqual(["MemoryLow", ["no new tasks are taken: there is too little memory left"]]);
});
