import { type LfsServer, startLfs } from "../../../../test/servers/lfs.ts";
import { Secret } from "../../../base/secret.ts";
import { type Bench, configMap, startBench } from "../testing.ts";
import type { RenderRequest, RepoAccess } from "../types.ts";

let bench: Bench;
let lfs: LfsServer;
beforeAll(async () => {
  bench = await startBench();
  lfs = await startLfs(bench.git);
});
afterAll(async () => {
  await lfs.stop();
  await bench.stop();
});

const tip = async (name: string) => (await bench.git.repository(name).tip("refs/heads/main"))!;
const modules = (...all: [path: string, url: string][]) =>
  all.map(([path, url]) => `[submodule "${path}"]\n\tpath = ${path}\n\turl = ${url}\n`).join("");
const asked = (name: string, repo: Partial<RepoAccess> = {}, path = "."): RenderRequest =>
  bench.request(
    name,
    { path, directory: { recurse: true } },
    { repo: { url: bench.git.cloneUrl(name), submodules: true, ...repo } },
  );

describe("submodules", () => {
  test("their files are where git would put them, nested ones too, by addresses beside the repository", async () => {
    const inner = await bench.repository({ "inner.yaml": configMap("inner") });
    const module = await bench.repository({
      "module.yaml": configMap("module"),
      ".gitmodules": modules(["deep/er", `../${inner}.git`]),
      "deep/er": { module: await tip(inner) },
    });
    const name = await bench.repository({
      "a.yaml": configMap("a"),
      ".gitmodules": modules(["lib/m", bench.git.cloneUrl(module)]),
      "lib/m": { module: await tip(module) },
    });
    expect(await bench.names(asked(name))).toEqual(["a", "inner", "module"]);
    expect(await bench.names(asked(name, {}, "lib/m/deep"))).toEqual(["inner"]);
    // Without leave they are not there.
    expect(await bench.names(asked(name, { submodules: false }))).toEqual(["a"]);
    expect(await bench.names(asked(name, { submodules: false }, "lib/m"))).toMatch(
      /^SourceUnsupported: .*allow submodules/,
    );
  });

  test("the key tells with and without apart, and another commit of the module is another content", async () => {
    const module = await bench.repository({ "m.yaml": configMap("one") });
    const files = async () => ({ ".gitmodules": modules(["m", `../${module}.git`]), m: { module: await tip(module) } });
    const name = await bench.repository(await files());
    const key = async (repo: Partial<RepoAccess> = {}) => {
      const got = await bench.service.render(asked(name, repo));
      return got.kind === "done" ? got.value.key : got.reason;
    };
    const [off, first] = [await key({ submodules: false }), await key()];
    await bench.git.commit(module, { "m.yaml": configMap("two") }, "change");
    expect(await key()).toBe(first);
    await bench.git.commit(name, await files(), "follow");
    const second = await key();
    expect(new Set([off, first, second]).size).toBe(3);
    expect(await bench.names(asked(name))).toEqual(["two"]);
  });

  test("another host needs credentials of its own, and gets no others", async () => {
    await bench.git.createRepository("closed", { users: { ana: "pw" }, files: { "c.yaml": configMap("c") } });
    const commit = await tip("closed");
    // The same server by another name is another host.
    const elsewhere = bench.git.cloneUrl("closed", "localhost");
    const name = await bench.repository({ ".gitmodules": modules(["c", elsewhere]), c: { module: commit } });
    const own = { username: "ana", password: new Secret("pw") };
    expect(await bench.names(asked(name, own))).toMatch(/^RepositoryUrlRefused: .*another host/);
    const way = (url: string): Partial<RepoAccess> => ({ ways: [{ url, ...own }] });
    expect(await bench.names(asked(name, way(`http://localhost:${bench.git.port}/`)))).toEqual(["c"]);
    expect(await bench.names(asked(name, way(`http://localhost:${bench.git.port}/clos`)))).toMatch(
      /^RepositoryUrlRefused/,
    );
  });

  test("the parent's credentials go only where the project permits, and the answer says so", async () => {
    const users = { ana: "pw" };
    await bench.git.createRepository("secret", { users, files: { "s.yaml": configMap("s") } });
    await bench.git.createRepository("above", {
      users,
      files: {
        "a.yaml": configMap("a"),
        ".gitmodules": modules(["m", "../secret.git"]),
        m: { module: await tip("secret") },
      },
    });
    const own = { username: "ana", password: new Secret("pw") };
    const above = bench.git.cloneUrl("above");
    const names = (sourceRepos?: string[]) => bench.names(asked("above", { ...own, sourceRepos }));
    expect(await names([above])).toMatch(/^AuthenticationFailed: submodule m: .*sourceRepos do not permit it/);
    expect(await names([above, `!${bench.git.cloneUrl("secret")}`])).toMatch(/sourceRepos do not permit it/);
    // Nor from what another project was shown.
    expect(await names([above, bench.git.cloneUrl("secret")])).toEqual(["a", "s"]);
    expect(await names([above])).toMatch(/sourceRepos do not permit it/);
    expect(await names()).toEqual(["a", "s"]);
  });

  const one = (path: string, url: string, more = "") => ({
    ".gitmodules": modules([path, url]) + more,
    m: { module: "1".repeat(40) },
  });
  test.each<[string, () => Record<string, string | { module: string } | { link: string }>, RegExp]>([
    ["a command as address", () => one("m", "ext::sh -c id"), /^RepositoryUrlRefused: submodule m/],
    ["another helper", () => one("m", "transport::x"), /^RepositoryUrlRefused/],
    ["a file", () => one("m", "file:///etc"), /^RepositoryUrlRefused/],
    ["a path of this machine", () => one("m", "/etc"), /^RepositoryUrlRefused/],
    ["an argument", () => one("m", "--upload-pack=id"), /^RepositoryUrlRefused/],
    ["an argument as host", () => one("m", "ssh://-oProxyCommand=id/x"), /^RepositoryUrlRefused/],
    ["above the host", () => one("m", "../../../../x.git"), /^RepositoryUrlRefused: .*above its host/],
    ["a cloud's metadata", () => one("m", "http://169.254.169.254/x.git"), /^RepositoryUrlRefused/],
    [
      "a path that a server may read as one above",
      () => one("m", "https://h.example/team/..%2fx.git"),
      /^RepositoryUrlRefused: .*plainly/,
    ],
    ["the same beside it", () => one("m", "../team/%2e%2e/x.git"), /^RepositoryUrlRefused: .*plainly/],
    ["a password in the address", () => one("m", "https://a:b@h.example/x.git"), /^RepositoryUrlRefused: .*password/],
    ["a command for updates", () => one("m", "../x.git", "\tupdate = !id\n"), /^SourceRefused: .*command/],
    ["a path above", () => one("../m", "../x.git"), /^SourceRefused/],
    ["a path into .git", () => one(".git/modules", "../x.git"), /^SourceRefused/],
    ["a name as an argument", () => one("-x", "../x.git"), /^SourceRefused: .*name/],
    [
      "a name above (CVE-2018-11235)",
      () => ({ ".gitmodules": '[submodule "../../x"]\n\tpath = m\n\turl = ../x.git\n', m: { module: "1".repeat(40) } }),
      /^SourceRefused: .*name/,
    ],
    [
      "a path with a line's end (CVE-2025-48384)",
      () => ({ ".gitmodules": '[submodule "m"]\n\tpath = "m\r"\n\turl = ../x.git\n', m: { module: "1".repeat(40) } }),
      /^SourceRefused/,
    ],
    [
      "a path through a link (CVE-2024-32002)",
      () => ({ ".gitmodules": modules(["l/m", "../x.git"]), l: { link: "." }, m: { module: "1".repeat(40) } }),
      /^SourceRefused: .*link/,
    ],
    ["modules by a link", () => ({ ".gitmodules": { link: "x" }, x: modules(["m", "../x.git"]) }), /^SourceRefused/],
    [
      "what is not a configuration",
      () => ({ ".gitmodules": "[[[[", m: { module: "1".repeat(40) } }),
      /^ManifestInvalid/,
    ],
    [
      "a module without an address",
      () => ({ m: { module: "1".repeat(40) } }),
      /^SourceRefused: submodule m has no address/,
    ],
    ["a commit that is not there", () => one("m", "../r0.git"), /^RevisionNotFound: submodule m/],
    [
      "more than twenty",
      () => ({
        ".gitmodules": modules(...Array.from({ length: 21 }, (_, i): [string, string] => [`m${i}`, "../r0.git"])),
        ...Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`m${i}`, { module: `${i}`.padStart(40, "a") }])),
      }),
      /^RevisionNotFound|^SourceTooLarge/,
    ],
  ])("a hostile submodule is refused by name: %s", async (_, files, want) => {
    const name = await bench.repository({ "a.yaml": configMap("a"), ...files() });
    expect(await bench.names(asked(name))).toMatch(want);
  });

  test("modules that hold each other end at the bound", async () => {
    const chain: string[] = [];
    for (let i = 0; i < 6; i++) {
      const below = chain.at(-1);
      const files: Record<string, string | { module: string }> = below
        ? { ".gitmodules": modules(["m", `../${below}.git`]), m: { module: await tip(below) } }
        : {};
      chain.push(await bench.repository({ [`${i}.yaml`]: configMap(`n${i}`), ...files }));
    }
    expect(await bench.names(asked(chain.at(-1)!))).toMatch(/^SourceTooLarge: .*nested more than 4 deep/);
    expect(await bench.names(asked(chain[4]!))).toEqual(["n4", "n3", "n2", "n1", "n0"]);
  });
});

describe("Git LFS", () => {
  const ask = (name: string, repo: Partial<RepoAccess> = {}) =>
    bench.request(name, {}, { repo: { url: `${lfs.url}/${name}.git`, enableLfs: true, ...repo } });
  afterEach(() => {
    lfs.answer(undefined);
    lfs.give(undefined);
  });

  test("a pointer is read as what it stands for, once, and only where the repository allows it", async () => {
    const name = await bench.repository({ "a.yaml": lfs.put(configMap("large")), "b.yaml": configMap("b") });
    expect(await bench.names(ask(name))).toEqual(["large", "b"]);
    const before = lfs.seen.length;
    expect(await bench.names({ ...ask(name), freshness: "hard" })).toEqual(["large", "b"]);
    expect(lfs.seen.length).toBe(before);
    expect(await bench.names(ask(name, { enableLfs: false }))).toEqual(["b"]);
  });

  test("the host's own credentials go to the batch interface, and what it gives to the content", async () => {
    const name = await bench.repository({ "a.yaml": lfs.put(configMap("mine")) });
    lfs.seen.length = 0;
    const basic = `Basic ${Buffer.from("ana:canary").toString("base64")}`;
    expect(await bench.names(ask(name, { username: "ana", password: new Secret("canary") }))).toEqual(["mine"]);
    expect(lfs.seen.map(({ authorization }) => authorization)).toEqual([basic, "RemoteAuth token"]);
  });

  test("in a submodule they are its own host's", async () => {
    const module = await bench.repository({ "m.yaml": lfs.put(configMap("below")) });
    const name = await bench.repository({
      ".gitmodules": modules(["m", `../${module}.git`]),
      m: { module: await tip(module) },
    });
    const repo = { url: `${lfs.url}/${name}.git`, enableLfs: true, submodules: true };
    expect(await bench.names(bench.request(name, { path: "m" }, { repo }))).toEqual(["below"]);
  });

  const at = (href: string) => () =>
    lfs.answer(({ oid, size }) => ({
      oid,
      size,
      actions: { download: { href, header: { Authorization: "x", Host: "h" } } },
    }));
  test.each<[string, () => void, RegExp]>([
    ["a cloud's metadata", at("http://169.254.169.254/latest"), /^RepositoryUrlRefused/],
    ["a file", at("file:///etc/passwd"), /^RepositoryUrlRefused/],
    ["an address with a password", at("http://a:b@127.0.0.1/x"), /^RepositoryUrlRefused/],
    ["no address", at("x"), /^RepositoryUrlRefused/],
    [
      "a redirect to a cloud's metadata",
      () => lfs.give((to) => void to.writeHead(302, { location: "http://169.254.169.254/" }).end()),
      /^RepositoryUrlRefused/,
    ],
    [
      "another content",
      () => lfs.give((to) => void to.end("x".repeat(configMap("hostile").length))),
      /^SourceRefused: .*something else/,
    ],
    ["a shorter content", () => lfs.give((to) => void to.end("x")), /^SourceRefused/],
    ["a longer content", () => lfs.give((to) => void to.end("x".repeat(100_000))), /^SourceTooLarge/],
    [
      "nothing",
      () => lfs.answer(({ oid, size }) => ({ oid, size, error: { code: 404 } })),
      /^PathNotFound: .*git lfs push/,
    ],
    ["what is not an answer", () => lfs.answer(() => "x"), /^PathNotFound/],
    ["an answer without end", () => lfs.answer(() => ({ x: "x".repeat(200_000) })), /^SourceTooLarge/],
  ])("a server that gives %s is refused by name", async (_, prepare, want) => {
    const name = await bench.repository({ "a.yaml": lfs.put(`${configMap("hostile")}`) });
    prepare();
    // Each repository has its own store: what another one fetched is not lent.
    expect(await bench.names(ask(name))).toMatch(want);
  });

  test.each([
    ["a pointer to a terabyte", 1e12, /^SourceTooLarge: a.yaml: a file of 1000000000000 bytes/],
    ["a pointer to 11 MB", 11_000_000, /^SourceTooLarge/],
  ])("%s is refused before anybody is asked", async (_, size, want) => {
    const name = await bench.repository({
      "a.yaml": `version https://git-lfs.github.com/spec/v1\noid sha256:${"0".repeat(64)}\nsize ${size}\n`,
    });
    const before = lfs.seen.length;
    expect(await bench.names(ask(name))).toMatch(want);
    expect(lfs.seen.length).toBe(before);
  });

  test("a repository's own word on where LFS is leads nowhere", async () => {
    const name = await bench.repository({
      "a.yaml": lfs.put(configMap("plain")),
      ".lfsconfig": "[lfs]\n\turl = http://169.254.169.254/lfs\n",
    });
    expect(await bench.names(ask(name))).toEqual(["plain"]);
  });

  test("over SSH it is said by name that it is not read", async () => {
    const name = await bench.repository({ "a.yaml": lfs.put(configMap("ssh")) });
    expect(
      await bench.names(bench.request(name, {}, { repo: { url: bench.git.cloneUrl(name), enableLfs: true } })),
    ).toMatch(/^(RepositoryNotFound|RepositoryUnreachable)/);
  });
});
