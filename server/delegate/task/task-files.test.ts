import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { temporaryFolder } from "../testing/temporary.ts";
import { packInto, unpack } from "./archive.ts";
import { takeKept } from "./artifact-client.ts";
import {
  createTaskFile,
  Folder,
  findTaskPath,
  makeTaskFolder,
  openTaskFile,
  putTaskFile,
  readTaskFile,
} from "./task-files.ts";

const dir = temporaryFolder();
const never = new AbortController().signal;
let count = 0;

/** A workspace beside the delegate's identity. */
function workspace(): string {
  const base = join(dir, String(++count));
  mkdirSync(join(base, "task/work/inner"), { recursive: true });
  writeFileSync(join(base, "identity.json"), "the identity");
  writeFileSync(join(base, "task/work/file"), "mine");
  writeFileSync(join(base, "task/work/inner/deep"), "deep");
  return join(base, "task");
}

const LEFT: Record<string, (at: string, task: string) => void> = {
  "a link": (at, task) => symlinkSync(join(task, "../identity.json"), at),
  "a relative link": (at) => symlinkSync("../../identity.json", at),
  "a link to a link": (at, task) => {
    symlinkSync("../../identity.json", join(task, "work/hop"));
    symlinkSync("hop", at);
  },
  "a hard link": (at, task) => linkSync(join(task, "../identity.json"), at),
  "a pipe": (at) => execFileSync("mkfifo", [at]),
  "a link to /proc": (at) => symlinkSync("/proc/self/environ", at),
  "a link to itself": (at) => symlinkSync("victim", at),
  ...(process.getuid?.() === 0 ? { "a device": (at: string) => execFileSync("mknod", [at, "c", "1", "5"]) } : {}),
};

test.each(Object.entries(LEFT))(
  "%s in the place of a file is not read, not sent, not packed, and not written through",
  async (_name, leave) => {
    const task = workspace();
    const at = join(task, "work/victim");
    leave(at, task);
    expect(await openTaskFile(task, join(task, "work"), "victim")).toMatchObject({ kind: "stop" });
    expect(await readTaskFile(task, at, 1_000)).toBeUndefined();
    expect((await takeKept({ folder: join(task, "work"), path: "victim" }, task, never)).kind).toBe("stop");
    const packed = await takeKept({ folder: task, path: "work" }, task, never);
    if (packed.kind === "done") {
      const tar = join(dir, `${count}.tgz`);
      writeFileSync(tar, await bytesOf(packed.value.stream()));
      await packed.value.close();
      expect(execFileSync("tar", ["-xzOf", tar]).toString()).not.toContain("the identity");
    } else expect(packed.reason).toBe("PathRefused");
    await putTaskFile(task, at, "written");
    expect([readFileSync(at, "utf8"), readFileSync(join(task, "../identity.json"), "utf8")]).toEqual([
      "written",
      "the identity",
    ]);
  },
);

test.each<[string, (task: string) => void]>([
  ["a folder", (task) => symlinkSync("../../..", join(task, "work/sub"))],
  [
    "the work folder",
    (task) => {
      rmSync(join(task, "work"), { recursive: true });
      symlinkSync("..", join(task, "work"));
    },
  ],
])("%s that became a link is neither read through nor written through", async (_name, swap) => {
  const task = workspace();
  swap(task);
  for (const path of ["sub/identity.json", "identity.json", "sub/task/../identity.json"])
    expect((await findTaskPath(task, join(task, "work"), path)).kind).toBe("stop");
  const before = readFileSync(join(task, "../identity.json"), "utf8");
  await putTaskFile(task, join(task, "work/identity.json"), "other");
  await makeTaskFolder(task, join(task, "work/sub/made"));
  await (await createTaskFile(task, join(task, "work/sub/identity.json"))).close();
  expect(readFileSync(join(task, "../identity.json"), "utf8")).toBe(before);
});

test.each<[string, string]>([
  ["file", "mine"],
  ["./inner/../file", "mine"],
  ["inner/deep", "deep"],
  ["latest", "deep"],
  ["folder/deep", "deep"],
])("%s within the task's own files is read, through its own links too", async (path, want) => {
  const task = workspace();
  symlinkSync("inner/deep", join(task, "work/latest"));
  symlinkSync("inner", join(task, "work/folder"));
  const file = await openTaskFile(task, join(task, "work"), path);
  if (file.kind !== "done") throw new Error(file.message);
  expect(await file.value.text(100)).toBe(want);
  await file.value.close();
});

test.each(["../output", "inner/../../output", "/etc/hosts", "up/output", "a\0b"])(
  "%j leads out of the folder that was named, and is refused",
  async (path) => {
    const task = workspace();
    writeFileSync(join(task, "output"), "not of the source");
    symlinkSync("..", join(task, "work/up"));
    expect(await openTaskFile(task, join(task, "work"), path)).toMatchObject({ kind: "stop", reason: "PathRefused" });
  },
);

test("a file with several names is the task's when all of them are in its workspace", async () => {
  const task = workspace();
  linkSync(join(task, "work/file"), join(task, "work/inner/same"));
  expect((await openTaskFile(task, join(task, "work"), "inner/same")).kind).toBe("done");
});

test("folders deeper than any archive are neither followed nor searched for names, and hold few files open", async () => {
  const task = workspace();
  const deep = '(mkdir("d") and chdir("d")) or die "$!" for 1..1500';
  execFileSync("perl", ["-e", `chdir $ARGV[0]; ${deep}`, join(task, "work")]);
  // Each link leads a thousand folders down, to the next one.
  symlinkSync("d/".repeat(1_000), join(task, "work/down"));
  linkSync(join(task, "work/file"), join(task, "work/inner/same"));
  const open = () => readdirSync("/proc/self/fd").length;
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, open());
  }, 5);
  const before = open();
  try {
    expect((await openTaskFile(task, join(task, "work"), "file")).kind).toBe("done");
    expect(await findTaskPath(task, join(task, "work"), "down")).toMatchObject({ kind: "stop", reason: "PathRefused" });
  } finally {
    clearInterval(watch);
  }
  expect(most - before).toBeLessThan(600);
});

test("a folder of many files with several names is looked through once", async () => {
  const task = workspace();
  many(2_000, (i) => writeFileSync(join(task, `work/${i}`), "mine"));
  many(2_000, (i) => linkSync(join(task, `work/${i}`), join(task, `work/inner/${i}`)));
  const started = process.cpuUsage();
  const packed = await takeKept({ folder: task, path: "work" }, task, never);
  const { user, system } = process.cpuUsage(started);
  expect(packed.kind).toBe("done");
  if (packed.kind === "done") await packed.value.close();
  // Each of them looking for its names takes minutes.
  expect((user + system) / 1e6).toBeLessThan(30);
});

test("of a file that grows, what was there is sent, with its digest; a folder swapped while it is packed is not followed", async () => {
  const task = workspace();
  const grows = join(task, "work/file");
  const file = await openTaskFile(task, join(task, "work"), "file");
  if (file.kind !== "done") throw new Error(file.message);
  appendFileSync(grows, "more");
  expect((await bytesOf(file.value.stream())).toString()).toBe("mine");
  await file.value.close();

  const held = await Folder.own(join(task, "work"));
  const inner = await held.folder("inner");
  rmSync(join(task, "work/inner"), { recursive: true });
  symlinkSync("../..", join(task, "work/inner"));
  await expect(held.folder("inner")).rejects.toThrow();
  expect(await inner.names()).toEqual([]);
  const to = await open(join(dir, `swapped-${count}.tgz`), "w+");
  expect((await packInto(to, [{ name: "", content: held }], { workspace: task, signal: never })).kind).toBe("done");
  await Promise.all([to.close(), held.close(), inner.close()]);
  mkdirSync(join(dir, `swapped-${count}`));
  await unpack(join(dir, `swapped-${count}.tgz`), join(dir, `swapped-${count}`), never);
  expect(execFileSync("tar", ["-xzOf", join(dir, `swapped-${count}.tgz`)]).toString()).not.toContain("the identity");
});

const SIZES: [string, (work: string) => void, string | undefined][] = [
  ["a sparse terabyte", (work) => truncateSync(join(work, "file"), 2 ** 40), "ArtifactTooLarge"],
  [
    "more than an artefact may have, which does not get smaller",
    (work) => writeFileSync(join(work, "file"), randomBytes(65 * 2 ** 20)),
    "ArtifactTooLarge",
  ],
  [
    "a path longer than may be unpacked",
    (work) => mkdirSync(join(work, ...Array.from({ length: 9 }, () => "x".repeat(200))), { recursive: true }),
    "ArtifactTooLarge",
  ],
  [
    "a folder in a folder, a hundred times",
    (work) => mkdirSync(join(work, ...Array.from({ length: 100 }, () => "d")), { recursive: true }),
    undefined,
  ],
  [
    "names of all sorts",
    (work) => {
      for (const name of NAMES) writeFileSync(join(work, name), "mine");
    },
    undefined,
  ],
];
const many = (count: number, make: (i: number) => void) => Array.from({ length: count }, (_, i) => make(i));
const NAMES = ["-rf", "--to-command=sh", "a\nb", " ", "...", "\\", "%00", "*", "a;b", "\u202egnp", "x".repeat(255)];

test.each(SIZES)(
  "a folder with %s is refused before it costs anything, or packed as it is",
  async (_name, make, reason) => {
    const task = workspace();
    make(join(task, "work"));
    const started = process.cpuUsage();
    const packed = await takeKept({ folder: task, path: "work" }, task, never);
    const { user, system } = process.cpuUsage(started);
    // Seconds of this process: a terabyte takes an hour.
    expect((user + system) / 1e6).toBeLessThan(30);
    expect(packed).toMatchObject(reason ? { kind: "stop", reason } : { kind: "done" });
    if (packed.kind !== "done") return;
    const [tar, to] = [join(dir, `sizes-${count}.tgz`), join(dir, `sizes-${count}`)];
    writeFileSync(tar, await bytesOf(packed.value.stream()));
    await packed.value.close();
    const listed = execFileSync("tar", ["-tzf", tar], { maxBuffer: 64 << 20 }).toString();
    expect(listed).not.toMatch(/^\/|(^|\/)\.\.(\/|$)/m);
    mkdirSync(to);
    // A backslash is refused by name where it is unpacked.
    expect((await unpack(tar, to, never)).kind).toMatch(/done|stop/);
  },
);

test.each([
  ["entries", { entries: 10, bytes: 1_000_000 }],
  ["bytes", { entries: 100, bytes: 1_000 }],
])("a folder of more %s than may be unpacked is refused", async (_name, bounds) => {
  const task = workspace();
  const [to, folder] = await Promise.all([open(join(dir, `many-${count}.tgz`), "w+"), Folder.own(join(task, "work"))]);
  many(20, (i) => writeFileSync(join(task, `work/${i}`), "x".repeat(60)));
  expect(await packInto(to, [{ name: "", content: folder }], { workspace: task, signal: never, bounds })).toMatchObject(
    {
      kind: "stop",
      reason: "ArtifactTooLarge",
    },
  );
  await Promise.all([to.close(), folder.close()]);
});

test("a workspace holds no archive after it was kept, and a link in its place is not written through", async () => {
  const task = workspace();
  symlinkSync("../identity.json", join(task, "keep-f"));
  const packed = await takeKept({ folder: task, path: "work" }, task, never);
  if (packed.kind !== "done") throw new Error(packed.message);
  const folder = await Folder.own(task);
  expect(await folder.names()).toEqual(["keep-f", "work"]);
  await Promise.all([folder.close(), packed.value.close()]);
  expect(readFileSync(join(task, "../identity.json"), "utf8")).toBe("the identity");
});

async function bytesOf(stream: NodeJS.ReadableStream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
