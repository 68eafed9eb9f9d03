import { spawnSync } from "node:child_process";

test("a delegate leaves no core dump, and no program of its user can allow one again", () => {
  const source = new URL("./core-dumps.ts", import.meta.url).href;
  const program = `
    import { readFileSync } from "node:fs";
    const { forbidCoreDumps } = await import(${JSON.stringify(source)});
    const done = forbidCoreDumps();
    const bound = /^Max core file size +(\\S+) +(\\S+)/m.exec(readFileSync("/proc/self/limits", "utf8"));
    process.stdout.write([done, bound[1], bound[2]].join(" "));`;
  const node = [process.execPath, "--import", "tsx", "--input-type=module", "-e", program];
  const ran = spawnSync("sh", ["-c", 'ulimit -c unlimited 2>/dev/null; exec "$@"', "sh", ...node], {
    encoding: "utf8",
  });
  expect([ran.stderr, ran.stdout]).toEqual(["", "true 0 0"]);
});
