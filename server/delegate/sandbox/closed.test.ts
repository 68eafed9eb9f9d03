import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { jest } from "@jest/globals";
import { hostile, publicFolder, ROOT, WAYS_HERE } from "../testing/jail.ts";

/** What a task finds of the delegate's own files and of other tasks, in every way that this system has. */
jest.setTimeout(150_000);
const dir = publicFolder();
let count = 0;

/** A home with all that a delegate has in one, readable for its user alone. */
function home(asRoot: boolean): { path: string; files: string[]; env: Record<string, string> } {
  const path = join(dir, `home-${++count}`);
  const files = ["token", "secrets/shared", ".ssh/id", "delegate.yaml"].map((name) => join(path, name));
  for (const file of files) {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, "STOLEN", { mode: 0o600 });
  }
  mkdirSync(join(path, "bin"), { mode: 0o700 });
  writeFileSync(join(path, "bin/own-tool"), "#!/bin/sh\necho tool\n", { mode: 0o700 });
  if (ROOT && !asRoot)
    for (const each of [
      path,
      ...files,
      join(path, "secrets"),
      join(path, ".ssh"),
      join(path, "bin"),
      join(path, "bin/own-tool"),
    ])
      chownSync(each, 12_345, 12_345);
  const [token, , , config] = files as [string, string, string, string];
  const env = {
    HOME: path,
    OUTPOST_TOKEN_FILE: token,
    OUTPOST_SECRETS_DIR: join(path, "secrets"),
    OUTPOST_CONFIG_FILE: config,
  };
  return { path, files, env };
}
const reads = (files: readonly string[]) => `cat ${files.join(" ")} 2>/dev/null; own-tool 2>/dev/null; echo end`;
const shared = WAYS_HERE.filter((way) => !way.startsWith("uid"));

test.each(WAYS_HERE)(
  "%s: token, settings, secrets and keys in the home of the delegate cannot be read",
  async (way) => {
    const { path, files, env } = home(way.startsWith("uid"));
    // A user of an attempt cannot walk through a home that is closed; with mounts it need not.
    const inside = way.includes("mount") || !way.startsWith("uid");
    const work = inside ? { HOSTILE_WORK_DIR: join(path, ".local/share/outpost/delegate") } : undefined;
    const got = await hostile(dir, way, reads(files), { ...env, ...work });
    expect([got.level, got.lines]).toEqual([way, ["end"]]);
    expect(got.findings.find(({ name }) => name === "credentials")?.on).toBe(true);
  },
);

test.each(shared)("%s: the same in a home beside the work folder, while a program in it can be run", async (way) => {
  const { path, files, env } = home(false);
  const got = await hostile(dir, way, reads(files), { ...env, PATH: `${process.env.PATH}:${path}/bin` });
  expect([got.level, got.lines]).toEqual([way, ["tool", "end"]]);
});

test.each(shared)("%s: what a linked token file leads to is closed too", async (way) => {
  const { path, files, env } = home(false);
  const real = join(dir, `real-${count}`);
  writeFileSync(real, "STOLEN", { mode: 0o600 });
  if (ROOT) chownSync(real, 12_345, 12_345);
  symlinkSync(real, join(path, "secrets/link"));
  const got = await hostile(dir, way, reads([real, ...files]), {
    ...env,
    OUTPOST_TOKEN_FILE: join(path, "secrets/link"),
  });
  expect([got.level, got.lines]).toEqual([way, ["end"]]);
});

(ROOT ? test : test.skip)(
  "a way that leaves the token readable is not a sandbox that `required` takes, and says so otherwise",
  async () => {
    const { path, files, env } = home(true);
    chmodSync(path, 0o755);
    chmodSync(files[0]!, 0o644);
    const got = await hostile(dir, "uid", "echo end", env);
    expect(got.findings.find(({ name }) => name === "credentials")).toMatchObject({
      on: false,
      why: expect.stringContaining("chmod 600"),
    });
    expect((await hostile(dir, "uid", "echo end", { ...env, HOSTILE_MODE: "required" })).level).toBe("none");
  },
);

const MOUNTS = WAYS_HERE.filter((way) => way.includes("mount"));

(ROOT ? test : test.skip).each(MOUNTS)(
  "%s: a link in the place of a task's tmp shows its next command nothing more",
  async (way) => {
    // Beside /tmp, so that each attempt has a /tmp of its own.
    const outer = mkdtempSync("/opt/sandbox-");
    try {
      chmodSync(outer, 0o755);
      if (!way.startsWith("uid")) chownSync(outer, 12_345, 12_345);
      const first =
        'mv "$TMPDIR" "$TMPDIR.old" && ln -s "$(dirname "$(dirname "$IDENTITY")")" "$TMPDIR" && echo linked';
      const got = await hostile(dir, way, "cat /tmp/work/identity.json && echo OPEN; ls /tmp; echo ran", {
        HOSTILE_FIRST: first,
        HOSTILE_WORK_DIR: join(outer, "work"),
      });
      expect(got.lines).toEqual(["linked", "the task has replaced its tmp folder"]);
    } finally {
      rmSync(outer, { recursive: true, force: true });
    }
  },
);

test.each(MOUNTS)("%s: shared memory, locks and queues of one command are not those of the next", async (way) => {
  const left =
    "perl -e 'defined shmget(0x0ff1ce, 4096, 01600 | 0666) or die' && for at in /dev/shm /run/lock; do [ ! -w $at ] || echo x > $at/outpost-left; done";
  const look =
    "perl -e 'print \"SHM\\n\" if defined shmget(0x0ff1ce, 0, 0)'; cat /dev/shm/outpost-left /run/lock/outpost-left 2>/dev/null; echo end";
  expect((await hostile(dir, way, look, { HOSTILE_FIRST: left })).lines).toEqual(["end"]);
});
