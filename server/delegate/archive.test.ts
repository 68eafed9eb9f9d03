import { createWriteStream, existsSync, mkdirSync, readFileSync, readlinkSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { type Header, pack } from "tar-stream";
import { packInto, unpack } from "./archive.ts";
import { Folder } from "./task-files.ts";
import { temporaryFolder } from "./testing/temporary.ts";

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
  expect([statSync(join(to, "run.sh")).mode & 0o7777, statSync(join(to, "a/b.txt")).mode & 0o777]).toEqual([0o755, 0o644]);
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
  ["a hard link to what is not there", [{ name: "h", type: "link", linkname: "x" }], /no file of the archive/],
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

test("what is no archive is refused", async () => {
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
    expect(await packInto(to, [{ name: "", content }], { workspace: from, signal: never })).toEqual({ kind: "done", value: undefined });
    await Promise.all([to.close(), content.close()]);
  }
  expect(readFileSync(one).equals(readFileSync(two))).toBe(true);
  const to = folder();
  expect((await unpack(one, to, never)).kind).toBe("done");
  expect([readFileSync(join(to, "d/b"), "utf8"), readFileSync(join(to, "l"), "utf8"), readFileSync(join(to, "empty"), "utf8")]).toEqual([
    "2",
    "1",
    "",
  ]);
});
