import {
  createWriteStream,
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { type Header, pack } from "tar-stream";
import { temporaryFolder, until } from "../testing/temporary.ts";
import { boundsFor, packInto, unpack } from "./archive.ts";
import { Folder } from "./task-files.ts";

const dir = temporaryFolder();
const never = new AbortController().signal;
let count = 0;

type Entry = Partial<Header> & { name: string; text?: string };

async function archive(entries: Entry[], gzip = true): Promise<string> {
  const file = join(dir, `${++count}.tgz`);
  const tar = pack();
  for (const { text = "", ...header } of entries) {
    if (header.type === undefined || header.type === "file") tar.entry(header, text);
    else tar.entry(header).end(undefined);
  }
  tar.finalize();
  const out = createWriteStream(file);
  const stream = tar as unknown as NodeJS.ReadableStream;
  if (gzip) stream.pipe(createGzip()).pipe(out);
  else stream.pipe(out);
  await finished(out);
  return file;
}

const folder = () => {
  const path = join(dir, `out-${++count}`);
  mkdirSync(path);
  return path;
};

test.each([true, false])("files, folders, modes and links come out as they went in (gzip: %j)", async (gzip) => {
  const entries: Entry[] = [
    { name: "./a/b.txt", text: "b" },
    { name: "run.sh", text: "#!/bin/sh", mode: 0o4755 },
    { name: "a", type: "directory" },
    { name: "a/link", type: "symlink", linkname: "../run.sh" },
    { name: "same", type: "link", linkname: "a/b.txt" },
  ];
  const to = folder();
  expect(await unpack(await archive(entries, gzip), to, never)).toEqual({ kind: "done", value: undefined });
  expect(readFileSync(join(to, "a/b.txt"), "utf8") + readFileSync(join(to, "same"), "utf8")).toBe("bb");
  expect([statSync(join(to, "run.sh")).mode & 0o7777, statSync(join(to, "a/b.txt")).mode & 0o777]).toEqual([
    0o755, 0o644,
  ]);
  expect(readlinkSync(join(to, "a/link"))).toBe("../run.sh");
});

test.each<[string, Entry[], RegExp]>([
  ["an absolute name", [{ name: "/etc/x" }], /does not stay inside/],
  ["a name that climbs", [{ name: "a/../../x" }], /does not stay inside/],
  ["an absolute link", [{ name: "l", type: "symlink", linkname: "/etc/passwd" }], /out of the archive/],
  ["a link that climbs", [{ name: "a/l", type: "symlink", linkname: "../../x" }], /out of the archive/],
  [
    "a link through a link",
    [
      { name: "d/e/f", type: "symlink", linkname: "../.." },
      { name: "g", type: "symlink", linkname: "d/e/f/.." },
    ],
    /out of the archive/,
  ],
  [
    "a file through a link",
    [
      { name: "l", type: "symlink", linkname: "." },
      { name: "l/x", text: "x" },
    ],
    /is a file and a folder|EISDIR|not unpacked/,
  ],
  ["a hard link to elsewhere", [{ name: "h", type: "link", linkname: "../x" }], /does not stay inside/],
  ["a hard link to what is not there", [{ name: "h", type: "link", linkname: "x" }], /not a file of the archive/],
  ["a device", [{ name: "null", type: "character-device" }], /character-device/],
  ["too many entries", Array.from({ length: 11 }, (_, i) => ({ name: `${i}` })), /more than 10 entries/],
  [
    "too many bytes",
    [
      { name: "a", text: "x".repeat(600) },
      { name: "b", text: "x".repeat(600) },
    ],
    /more than/,
  ],
])("%s is refused", async (_name, entries, want) => {
  const to = folder();
  const result = await unpack(await archive(entries), to, never, { entries: 10, bytes: 1_000 });
  expect(result).toMatchObject({ kind: "stop", reason: "ArchiveRefused", message: expect.stringMatching(want) });
  expect([existsSync(join(dir, "x")), existsSync("/etc/x")]).toEqual([false, false]);
});

test("what is not an archive is refused", async () => {
  const file = join(dir, "none.tgz");
  for (const text of ["", "x", "\u001f\u008b", "x".repeat(2_000)]) {
    writeFileSync(file, text, "latin1");
    const result = await unpack(file, folder(), never);
    expect([text.length, result.kind]).toEqual([text.length, text === "" ? "done" : "stop"]);
  }
});

test("a folder is packed the same each time, and comes back", async () => {
  const from = folder();
  mkdirSync(join(from, "d"));
  for (const [name, text] of [
    ["d/b", "2"],
    ["a", "1"],
    ["empty", ""],
  ] as const)
    writeFileSync(join(from, name), text);
  symlinkSync("a", join(from, "l"));
  const [one, two] = [join(dir, "one.tgz"), join(dir, "two.tgz")];
  for (const file of [one, two]) {
    const [to, content] = [await open(file, "wx"), await Folder.own(from)];
    expect(await packInto(to, [{ name: "", content }], { workspace: from, signal: never })).toEqual({
      kind: "done",
      value: undefined,
    });
    await Promise.all([to.close(), content.close()]);
  }
  expect(readFileSync(one).equals(readFileSync(two))).toBe(true);
  const to = folder();
  expect((await unpack(one, to, never)).kind).toBe("done");
  expect([
    readFileSync(join(to, "d/b"), "utf8"),
    readFileSync(join(to, "l"), "utf8"),
    readFileSync(join(to, "empty"), "utf8"),
  ]).toEqual(["2", "1", ""]);
});

/** Packs a folder, and ends it when so many looks at the signal were made; gives the answer, and what no listener took. */
async function endedAt(from: string, after: number): Promise<[string, unknown[]]> {
  const ending = new AbortController();
  const unheard: unknown[] = [];
  const take = (error: unknown) => void unheard.push(error);
  process.on("uncaughtException", take);
  const [to, content] = [await open(join(dir, `ended-${++count}`), "wx+"), await Folder.own(from)];
  let looks = 0;
  const kept = () => {
    if (++looks === after) setImmediate(() => ending.abort());
    return true;
  };
  const result = await packInto(to, [{ name: "", content, kept }], { workspace: from, signal: ending.signal });
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  process.off("uncaughtException", take);
  await Promise.all([to.close(), content.close()]);
  return [result.kind === "done" ? "done" : result.reason, unheard];
}

test.each<[string, (path: string) => void]>([
  ["empty files", (path) => writeFileSync(path, "")],
  ["folders", (path) => mkdirSync(path)],
  ["links", (path) => symlinkSync("x", path)],
])("a task that ends while %s of it are packed ends nothing else", async (_name, make) => {
  const from = folder();
  for (let i = 0; i < 200; i++) make(join(from, String(i)));
  // The first 200 looks are those before the packing.
  for (const after of [1, 201, 230, 301]) expect(await endedAt(from, after)).toEqual(["Ended", []]);
});

test("a task that ends while a large file of it is packed ends nothing else", async () => {
  const from = folder();
  writeFileSync(join(from, "s"), "");
  truncateSync(join(from, "s"), 3 * 2 ** 30);
  const ending = new AbortController();
  const unheard: unknown[] = [];
  const take = (error: unknown) => void unheard.push(error);
  process.on("uncaughtException", take);
  const [to, content] = [await open(join(dir, "large.tgz"), "wx+"), await Folder.own(from)];
  const packing = packInto(to, [{ name: "", content }], { workspace: from, signal: ending.signal });
  await until("bytes of it are in the archive", async () => (await to.stat()).size > 0);
  ending.abort();
  expect(await packing).toMatchObject({ kind: "stop", reason: "Ended" });
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  process.off("uncaughtException", take);
  expect(unheard).toEqual([]);
  await Promise.all([to.close(), content.close()]);
});

test("a folder that says it has more than the task's disk is refused before a byte is read, with the bound's name", async () => {
  const from = folder();
  mkdirSync(join(from, "z"));
  writeFileSync(join(from, "z/s"), "");
  truncateSync(join(from, "z/s"), 3 * 2 ** 30);
  const [to, content] = [await open(join(dir, "sparse.tgz"), "wx+"), await Folder.own(from)];
  const options = { workspace: from, signal: never, bounds: boundsFor(100 * 2 ** 20) };
  expect(await packInto(to, [{ name: "", content }], options)).toMatchObject({
    reason: "ArtifactTooLarge",
    message: expect.stringMatching(/more than 100 MiB \(OUTPOST_TASK_DISK_MIB\)/),
  });
  expect((await to.stat()).size).toBeLessThan(1_024);
  await Promise.all([to.close(), content.close()]);
});

test("an archive that is gone meanwhile is refused, and ends nothing else", async () => {
  expect(await unpack(join(dir, "gone.tgz"), folder(), never)).toMatchObject({
    kind: "stop",
    reason: "ArchiveRefused",
  });
});

test("an archive's folders may be 400 deep", async () => {
  const [names, to] = [Array.from({ length: 400 }, (_, i) => "d/".repeat(i + 1)), folder()];
  const file = await archive(names.map((name) => ({ name, type: "directory" as const })));
  expect(await unpack(file, to, never)).toEqual({ kind: "done", value: undefined });
  expect(existsSync(join(to, names.at(-1)!))).toBe(true);
});

test("where a link leads is bounded before it is kept", async () => {
  const linkname = `${"a/".repeat(1_000_000)}b`;
  const entries = Array.from({ length: 100 }, (_, i): Entry => ({ name: `l${i}`, type: "symlink", linkname }));
  const got = await unpack(await archive(entries), folder(), never);
  const message = 'the archive was not unpacked: the link "l0" has more than 4095 characters';
  expect(got).toEqual({ kind: "stop", reason: "ArchiveRefused", message });
});
