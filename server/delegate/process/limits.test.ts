import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../testing/temporary.ts";
import { type Excess, watchLimits } from "./limits.ts";

const dir = temporaryFolder();
const none = { memoryBytes: 0, diskBytes: 0, outputBytes: 0, files: 0, processes: 0 };

test("a task of more files than it may have is ended, though they are empty", async () => {
  for (const part of ["work", "home", "tmp"]) mkdirSync(join(dir, part));
  for (let i = 0; i < 20; i++) writeFileSync(join(dir, "work", String(i)), "");
  const workspace = {
    dir,
    work: join(dir, "work"),
    home: join(dir, "home"),
    tmp: join(dir, "tmp"),
    mark: "OUTPOST_WORKSPACE=x",
  };
  const ending = new AbortController();
  const excess = await new Promise<Excess>((exceeded) => {
    void watchLimits({
      bounds: { ...none, files: 10 },
      workspace,
      mark: () => undefined,
      exceeded,
      signal: ending.signal,
    });
  });
  ending.abort();
  expect(excess.reason).toBe("DiskExceeded");
  expect(excess.message).toBe(
    "its workspace has over 10 files and folders, more than are allowed (OUTPOST_TASK_FILES)",
  );
});
