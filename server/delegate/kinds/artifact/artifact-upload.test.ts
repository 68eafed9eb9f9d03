import { createHash } from "node:crypto";
import { jest } from "@jest/globals";
import { type HttpStore, startHttpStore } from "../../../../test/servers/http-store.ts";
import { type KindBench, kindBench } from "../../testing/kind.ts";
import { temporaryFolder } from "../../testing/temporary.ts";
import { shellRun } from "../script/shell-run.ts";
import { artifactUpload } from "./artifact-upload.ts";
import { artifactMetadata, buildNumberOf, snapshotMetadata, stampOf } from "./maven-metadata.ts";

jest.setTimeout(30_000);
const dir = temporaryFolder();
let store: HttpStore;
let bench: KindBench;
beforeAll(async () => {
  store = await startHttpStore({ users: { robot: "password" } });
  bench = kindBench(dir);
});
afterAll(() => store?.stop());

const login = { username: "robot", password: "password" };
const source = { files: { "build/app.jar": "the bytes" } };
const path = "build/app.jar";
const digest = (algorithm: string, text: string) => createHash(algorithm).update(text).digest("hex");

test("a file is put where the address says, with its checksum", async () => {
  const url = `${store.url}/repository/raw/app.jar`;
  const result = await bench.run(artifactUpload, {
    source,
    path,
    url,
    layout: "raw",
    headers: { "x-own": "1" },
    ...login,
  });
  const sha256 = digest("sha256", "the bytes");
  expect(result).toMatchObject({ outcome: "succeeded", outputs: { url, sha256, size: 9 } });
  expect(store.files.get("/repository/raw/app.jar")!.toString()).toBe("the bytes");
  expect(store.requests.at(-1)!.headers).toMatchObject({ "x-checksum-sha256": sha256, "x-own": "1" });
});

test("an artefact of another task is uploaded", async () => {
  const made = await bench.run(shellRun, { script: "echo made > it", keep: [{ name: "it", path: "it" }] });
  const task = made.dir.split("/").at(-1)!.split(".")[0]!;
  const url = `${store.url}/raw/it`;
  expect(
    await bench.run(artifactUpload, { artifact: { task, name: "it" }, url, layout: "raw", ...login }),
  ).toMatchObject({
    outcome: "succeeded",
  });
  expect(store.files.get("/raw/it")!.toString()).toBe("made\n");
});

test("the layout of Maven has checksums, and metadata that keeps the versions before", async () => {
  const url = `${store.url}/maven/`;
  const at = "/maven/org/example/tools/app";
  for (const version of ["1.0", "1.1", "1.1"]) {
    const maven = { groupId: "org.example.tools", artifactId: "app", version, classifier: "all" };
    const result = await bench.run(artifactUpload, { source, path, url, layout: "maven", maven, ...login });
    expect(result).toMatchObject({
      outcome: "succeeded",
      outputs: { url: `${store.url}${at}/${version}/app-${version}-all.jar` },
    });
  }
  for (const algorithm of ["md5", "sha1", "sha256", "sha512"])
    expect(store.files.get(`${at}/1.0/app-1.0-all.jar.${algorithm}`)!.toString()).toBe(digest(algorithm, "the bytes"));
  const metadata = store.files.get(`${at}/maven-metadata.xml`)!.toString();
  expect([...metadata.matchAll(/<version>(.*)<\/version>/g)].map(([, version]) => version)).toEqual(["1.0", "1.1"]);
  expect(metadata).toContain("<release>1.1</release>");
  expect(store.files.get(`${at}/maven-metadata.xml.sha1`)!.toString()).toBe(digest("sha1", metadata));
});

test("a snapshot gets a stamp and the next number", async () => {
  const maven = { groupId: "org.example", artifactId: "snap", version: "2.0-SNAPSHOT" };
  for (const number of [1, 2]) {
    const result = await bench.run(artifactUpload, {
      source,
      path,
      url: `${store.url}/maven`,
      layout: "maven",
      maven,
      ...login,
    });
    expect(result.outputs!.url).toMatch(new RegExp(`/2\\.0-SNAPSHOT/snap-2\\.0-\\d{8}\\.\\d{6}-${number}\\.jar$`));
  }
});

test.each<[string, object, string, RegExp]>([
  ["a wrong password", { password: "wrong" }, "LoginRefused", /rejects the login \(as robot\)/],
  ["a layout without its coordinates", { layout: "maven" }, "ParamsInvalid", /groupId/],
  ["no file", { source: undefined }, "ParamsInvalid", /one of/],
  ["a file that is not there", { path: "none" }, "PathNotFound", /none/],
  ["a folder", { path: "build" }, "PathRefused", /folder/],
])("%s is told", async (_name, change, reason, message) => {
  const params = { source, path, url: `${store.url}/raw/x`, layout: "raw" as const, ...login, ...change };
  const given = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined)) as typeof params;
  const result = await bench.run(artifactUpload, given);
  expect(result).toMatchObject({ outcome: "failed", reason, message: expect.stringMatching(message) });
});

test("a repository that takes a file once says so; one that is busy is asked again", async () => {
  const once = await startHttpStore({ once: true });
  try {
    const params = { source, path, url: `${once.url}/raw/x`, layout: "raw" as const };
    once.fail("PUT", { status: 503, times: 1 });
    expect(await bench.run(artifactUpload, params)).toMatchObject({ outcome: "succeeded" });
    expect(await bench.run(artifactUpload, params)).toMatchObject({
      outcome: "failed",
      reason: "UploadRefused",
      message: expect.stringMatching(/already have this file.*does not allow updating/),
    });
  } finally {
    await once.stop();
  }
});

const now = new Date("2026-11-21T09:30:00Z");

test("metadata that somebody else wrote is kept where it can be, and nothing foreign gets in", () => {
  const known =
    "<metadata><versioning><release>0.9</release><versions><version>0.9</version><version>&evil;</version>\n<version> 1.0-SNAPSHOT </version></versions></versioning></metadata>";
  const text = artifactMetadata({ groupId: "g", artifactId: "a", version: "1.1-SNAPSHOT", now }, known);
  expect([...text.matchAll(/<version>(.*)<\/version>/g)].map(([, version]) => version)).toEqual([
    "0.9",
    "1.0-SNAPSHOT",
    "1.1-SNAPSHOT",
  ]);
  expect(text).toContain("<release>0.9</release>");
  expect([
    stampOf(now),
    buildNumberOf("<buildNumber>7</buildNumber>"),
    buildNumberOf("<buildNumber>x</buildNumber>"),
  ]).toEqual(["20261121.093000", 7, 0]);
  const build = {
    groupId: "g",
    artifactId: "a",
    version: "1-SNAPSHOT",
    packaging: "jar",
    classifier: undefined,
    named: "1-20261121.093000-1",
    number: 1,
    now,
  };
  const first = snapshotMetadata(build);
  const second = snapshotMetadata({ ...build, classifier: "sources" }, first);
  expect(second.match(/<snapshotVersion>/g)).toHaveLength(2);
  expect(snapshotMetadata({ ...build, named: "1-20261121.093000-2" }, second).match(/<snapshotVersion>/g)).toHaveLength(
    2,
  );
});
