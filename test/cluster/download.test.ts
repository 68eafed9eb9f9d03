import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zipSync } from "fflate";
import { run } from "../servers/run.ts";
import { download, publishedSum } from "./download.ts";
import { type Download, downloads, offered, placeOf } from "./downloads.mjs";
import { recipes } from "./recipes.ts";
import { timeLeft } from "./tools.ts";

let dir: string;
let mirror: Server;
/** What the loopback mirror serves, by path. */
const files = new Map<string, Buffer>();
const before = process.env.OUTPOST_DOWNLOADS;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "download-test-"));
  files.clear();
  mirror = createServer((request, response) => {
    const file = files.get(request.url!);
    response.writeHead(file ? 200 : 404).end(file);
  });
  await new Promise<void>((resolve) => mirror.listen(0, "127.0.0.1", resolve));
  process.env.OUTPOST_DOWNLOADS = `http://127.0.0.1:${(mirror.address() as AddressInfo).port}/`;
});
afterEach(async () => {
  if (before === undefined) delete process.env.OUTPOST_DOWNLOADS;
  else process.env.OUTPOST_DOWNLOADS = before;
  mirror.closeAllConnections();
  await new Promise((resolve) => mirror.close(resolve));
  await rm(dir, { recursive: true, force: true });
});

const sumOf = (content: Buffer) => createHash("sha256").update(content).digest("hex");
const recipe = { name: "hello", programs: { hello: ["greet"] } };
const script = "#!/bin/sh\necho hello\n";
const file = (name: string, member = ""): Download => ({
  url: `https://vendor.example/v1/${name}`,
  sums: "https://vendor.example/v1/SUMS",
  programs: { hello: member },
});

/** Puts a release and the list of its sums on the mirror. */
function publish(name: string, content: Buffer, sum = sumOf(content)): void {
  files.set(`/vendor.example/v1/${name}`, content);
  files.set("/vendor.example/v1/SUMS", Buffer.from(`${"0".repeat(64)}  other\n${sum}  ${name}\n`));
}

async function tarOf(path: string): Promise<Buffer> {
  mkdirSync(join(dir, "pack", path, ".."), { recursive: true });
  writeFileSync(join(dir, "pack", path), script);
  chmodSync(join(dir, "pack", path), 0o644);
  await run("tar", ["-czf", join(dir, "pack.tgz"), "-C", join(dir, "pack"), path]);
  return readFileSync(join(dir, "pack.tgz"));
}

/** Downloads into an empty folder; gives the reason for a refusal and what is in the folder. */
async function downloaded(given: Download): Promise<{ refused: string | undefined; there: string[] }> {
  const to = join(dir, "to");
  mkdirSync(to, { recursive: true });
  const refused = await download(recipe, to, () => {}, [given]);
  return { refused, there: readdirSync(to) };
}

const supported = process.platform === "linux" && process.arch === "x64";
const onLinux = supported ? describe : describe.skip;

onLinux("a release", () => {
  test.each([
    ["a program alone", "hello", "", async () => Buffer.from(script)],
    ["a tar archive", "hello.tar.gz", "bin/hello", () => tarOf("bin/hello")],
    [
      "a zip archive",
      "hello.zip",
      "hello_v1",
      async () => Buffer.from(zipSync({ hello_v1: Buffer.from(script), LICENSE: Buffer.from("x") })),
    ],
  ])("as %s becomes a program that runs, and nothing else is left", async (_, name, member, make) => {
    publish(name, await make());
    expect(await downloaded(file(name, member))).toEqual({ refused: undefined, there: ["greet"] });
    expect(statSync(join(dir, "to/greet")).mode & 0o111).toBe(0o111);
    expect((await run(join(dir, "to/greet"), [])).stdout).toBe("hello\n");
  });

  test("with another sum than the published one is not kept", async () => {
    publish("hello", Buffer.from(script), "1".repeat(64));
    const { refused, there } = await downloaded(file("hello"));
    expect(refused).toMatch(/has the SHA-256 sum [0-9a-f]{64}, and not 1{64}/);
    expect(there).toEqual([]);
  });

  test("is not fetched when the vendor's sum is not the pinned one", async () => {
    publish("hello", Buffer.from(script));
    const { refused, there } = await downloaded({ ...file("hello"), sha256: "2".repeat(64) });
    expect(refused).toMatch(/another sum than the pinned 2{64}/);
    expect(there).toEqual([]);
  });

  test.each([
    ["that the vendor does not have", () => files.delete("/vendor.example/v1/hello"), /answers 404/],
    ["without a sum", () => files.set("/vendor.example/v1/SUMS", Buffer.from("abc  hello\n")), /has no sum of hello/],
  ])("%s is told with the reason", async (_, spoil, want) => {
    publish("hello", Buffer.from(script));
    spoil();
    expect(await downloaded(file("hello"))).toEqual({ refused: expect.stringMatching(want), there: [] });
  });

  test("is not asked for when downloads are off", async () => {
    process.env.OUTPOST_DOWNLOADS = "off";
    expect((await downloaded(file("hello"))).refused).toBe("OUTPOST_DOWNLOADS is off");
  });

  test("of a host that does not answer costs one try", async () => {
    process.env.OUTPOST_DOWNLOADS = "http://127.0.0.1:1";
    expect((await downloaded(file("hello"))).refused).toMatch(/^127\.0\.0\.1:1 does not answer: /);
    expect((await downloaded(file("hello"))).refused).toBe("127.0.0.1:1 does not answer");
  });
});

const one = "a".repeat(64);
test.each([
  ["a sum alone", `${one}\n`, one],
  ["its line", `${"b".repeat(64)}  y\n${one}  x\n`, one],
  ["a binary file's line", `${one} *x\n`, one],
  ["another file's line", `${one}  y\n`, undefined],
  ["a page of HTML", "<html></html>", undefined],
])("the sum in %s", (_, text, want) => expect(publishedSum(text, "x")).toBe(want));

test("every tool that is not on demand can be downloaded, program by program", () => {
  for (const { name, onDemand, programs } of recipes) {
    const given = (downloads[name] ?? []).flatMap((d) => Object.keys(d.programs));
    expect([name, ...given]).toEqual([name, ...(onDemand ? [] : Object.keys(programs))]);
  }
});

/** The module whose version the release has, where it is not named like the recipe. */
const MODULES: Record<string, RegExp> = {
  helm: /helm\.sh\/helm\/v3 v([\d.]+)/,
  etcd: /go\.etcd\.io\/etcd\/server\/v3 v([\d.]+)/,
  kubernetes: /k8s\.io\/kubernetes v([\d.]+)/,
  kustomize: /sigs\.k8s\.io\/kustomize\/kustomize\/v5 v([\d.]+)/,
  jsonnet: /github\.com\/google\/go-jsonnet v([\d.]+)/,
  coredns: /github\.com\/coredns\/coredns v([\d.]+)/,
};

test.each(Object.entries(downloads))("the release of %s has the version that go.mod builds", (name, given) => {
  const module = readFileSync(new URL(`tools/${name}/go.mod`, import.meta.url), "utf8");
  const version = MODULES[name]?.exec(module)?.[1];
  // The providers' tags carry no Go version: their recipe and the mirror name it.
  if (!version)
    return expect(readFileSync(new URL("terraform.ts", import.meta.url), "utf8")).toContain(
      given[0]!.url.split("/").at(-2),
    );
  for (const { url } of given) expect(url).toContain(`${name === "kubernetes" ? "release/" : ""}v${version}`.slice(1));
});

test("files are fetched at their vendor, below a mirror, or not at all", () => {
  const url = "https://a.example/b%2Fc/d.tgz";
  expect(placeOf(url, {})).toBe(url);
  expect(placeOf(url, { OUTPOST_DOWNLOADS: "https://mirror.example/all/" })).toBe(
    "https://mirror.example/all/a.example/b%2Fc/d.tgz",
  );
  expect(placeOf(url, { OUTPOST_DOWNLOADS: "off" })).toBeUndefined();
});

test("only what a vendor answers for is offered", async () => {
  const { sums } = downloads.helm![0]!;
  files.set(new URL(sums).pathname.replace(/^/, `/${new URL(sums).host}`), Buffer.from("x"));
  expect(await offered(["helm", "etcd", "vault"])).toEqual(["helm"]);
  expect(await offered(["helm"], { OUTPOST_DOWNLOADS: "off" })).toEqual([]);
});

test("a long build says what follows it", () => {
  const [a, b, c] = recipes as [(typeof recipes)[0], (typeof recipes)[0], (typeof recipes)[0]];
  const none = () => false;
  expect(timeLeft({ ...a, minutes: 18 }, [], none)).toBe("about 18 min");
  expect(timeLeft({ ...a, minutes: 18 }, [{ ...b, minutes: 2 }], none)).toBe(
    "about 18 min, then 1 more tool, about 2 min",
  );
  expect(timeLeft({ ...a, minutes: 1 }, [b, c], (r) => r === b)).toBe(
    `about 1 min, then 1 more tool, about ${c.minutes} min`,
  );
});
