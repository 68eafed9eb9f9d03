import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { stringify } from "yaml";
import { within } from "../../../test/within.ts";
import { Secret } from "../../base/secret.ts";
import { PluginClient } from "../repo/plugin/client.ts";
import { Plugins } from "../repo/plugin/plugin.ts";
import { type Bench, configMap, startBench } from "../repo/testing.ts";
import type { RepoAccess } from "../repo/types.ts";
import { borrow } from "./borrow.ts";
import { readConfig } from "./config.ts";
import { runPluginServer } from "./main.ts";

let bench: Bench;
let folder: string;
let sockets: string;
/** A repository with FILES, which no test changes. */
let name: string;
const running: (() => Promise<void>)[] = [];
const sh = (script: string) => ({ command: ["sh", "-c"], args: [script] });

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "pl-"));
  sockets = join(folder, "s");
  bench = await startBench({ plugins: sockets });
  name = await bench.repository(FILES);
}, 60_000);
afterEach(async () => {
  while (running.length) await running.pop()!();
});
afterAll(async () => {
  await bench?.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a sidecar as its container does; it is ready when its socket is there. */
async function sidecar(name: string, spec: object, env: Record<string, string> = {}): Promise<void> {
  const file = join(folder, `${name}.yaml`);
  writeFileSync(
    file,
    stringify({ apiVersion: "argoproj.io/v1alpha1", kind: "ConfigManagementPlugin", metadata: { name }, spec }),
  );
  const abort = new AbortController();
  const work = join(folder, `work-${name}`);
  const settings = {
    OUTPOST_PLUGIN_CONFIG: file,
    OUTPOST_PLUGIN_SOCKETS: sockets,
    OUTPOST_PLUGIN_WORK: work,
    OUTPOST_LOG_LEVEL: "silent",
  };
  const before = existsSync(sockets) ? readdirSync(sockets).length : 0;
  const run = runPluginServer({ ...settings, ...env }, abort.signal);
  const failed = run.then(() => Promise.reject(new Error("it ended")));
  failed.catch(() => {});
  const ready = async () => {
    while (!existsSync(sockets) || readdirSync(sockets).filter((one) => one.endsWith(".sock")).length <= before)
      await new Promise((resolve) => setTimeout(resolve, 5));
  };
  await Promise.race([ready(), failed]);
  running.push(async () => {
    abort.abort();
    await run;
    // A rendering leaves nothing behind.
    expect(existsSync(work)).toBe(false);
  });
}

const PRINT = sh(
  `echo "apiVersion: v1"; echo "kind: ConfigMap"; echo "metadata: {name: made}"; echo "data:"
   env | grep -E '^(ARGOCD_|PARAM_|KUBE_VERSION)' | sort | sed -E "s/^([A-Z0-9_a-z]+)=(.*)$/  \\1: '\\2'/"
   echo "  beside: '$(cat ../beside.txt)'"; echo "  began: '$(cat began 2>/dev/null)'"`,
);
const FILES = { "app/plain.yaml": configMap("plain"), "beside.txt": "beside", "other/x.txt": "x" };

test("a plugin renders by its name, with init first, all files of the repository, and what the source tells it in its environment", async () => {
  await sidecar("printer", { version: "v1.2", init: sh("echo yes > began"), generate: PRINT });

  const plugin = {
    name: "printer",
    env: [{ name: "FOO", value: "of $ARGOCD_APP_NAME" }],
    parameters: [
      { name: "image.tag", string: "v7" },
      { name: "list", array: ["a", "b"] },
      { name: "map", map: { "x-y": "z" } },
    ],
  };
  const got = await bench.service.render(bench.request(name, { path: "app", plugin }, { kubeVersion: "v1.31.0" }));
  if (got.kind !== "done") throw new Error(got.message);
  expect(got.value).toMatchObject({ sourceType: "Plugin" });
  const { data } = got.value.objects![0]!;
  expect(data).toMatchObject({
    ARGOCD_APP_NAME: "app",
    ARGOCD_APP_NAMESPACE: "dest",
    ARGOCD_APP_REVISION: got.value.revision,
    ARGOCD_APP_SOURCE_PATH: "app",
    ARGOCD_ENV_FOO: "of app",
    PARAM_IMAGE_TAG: "v7",
    PARAM_LIST_0: "a",
    PARAM_LIST_1: "b",
    PARAM_MAP_X_Y: "z",
    KUBE_VERSION: "1.31.0",
    beside: "beside",
    began: "yes",
  });
  expect(JSON.parse(data.ARGOCD_APP_PARAMETERS)).toEqual(plugin.parameters);
  const exact = bench.request(name, { path: "app", plugin: { name: "printer-v1.2" } });
  expect(await bench.names(exact)).toEqual(["made"]);
});

test("a name that is none, or of several versions, is refused and tells which there are", async () => {
  const made = { generate: sh("true") };
  await sidecar("one", { ...made, version: "1.0" });
  await sidecar("two", { ...made, version: "v1" });
  rmSync(join(folder, "two.yaml"));
  await sidecar("one", { ...made, version: "2.0" });

  const ask = (plugin: string) => bench.names(bench.request(name, { path: "app", plugin: { name: plugin } }));
  expect(await ask("three")).toBe('PluginNotFound: there is no plugin "three"; there are one-1.0, one-2.0, two-v1');
  expect(await ask("one")).toBe('PluginNotFound: plugin "one" has several versions, name one: one-1.0, one-2.0');
  expect(await ask("../../etc/x")).toMatch(/^PluginNotFound/);
  expect(await ask("two")).toEqual([]);
});

const discovery: [string, object, boolean][] = [
  ["a file name that is there", { fileName: "./pl*.yaml" }, true],
  ["a file name that is not", { fileName: "*.toml" }, false],
  ["a glob at any depth", { find: { glob: "**/deep.txt" } }, true],
  ["a glob that finds nothing", { find: { glob: "**/none.txt" } }, false],
  ["a command that prints", { find: sh('[ "$ARGOCD_APP_NAME" = app ] && echo found') }, true],
  ["a command that prints nothing", { find: sh("true") }, false],
];
test.each(discovery)(
  "a plugin takes a folder for its own by %s; else it is rendered as what it is",
  async (_, discover, takes) => {
    await sidecar("finder", { discover, generate: sh(`echo '${configMap("found").trim()}'`) });
    const name = await bench.repository({ ...FILES, "app/a/b/deep.txt": "x" });
    expect(await bench.names(bench.request(name, { path: "app" }))).toEqual([takes ? "found" : "plain"]);
    // What the source names wins, and a named plugin that looks must find.
    expect(await bench.names(bench.request(name, { path: "app", directory: {} }))).toEqual(["plain"]);
    const named = await bench.names(bench.request(name, { path: "app", plugin: { name: "finder" } }));
    expect(named).toEqual(takes ? ["found"] : "PluginNotFound: plugin finder does not accept app");
  },
);

test("while a plugin that would look cannot be asked, nothing is rendered by another tool", async () => {
  mkdirSync(sockets, { recursive: true });
  const dead: Server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => dead.listen(join(sockets, "dead.sock"), resolve));
  try {
    const got = await bench.service.render(bench.request(name, { path: "app" }));
    expect(got).toMatchObject({ kind: "again", reason: "PluginFailed" });
  } finally {
    await new Promise((resolve) => dead.close(resolve));
  }
});

test("until every plugin that belongs to the Pod is there, nothing is said of a folder that may be one's", async () => {
  const expecting = new Plugins(sockets, ["late"]);
  const tree = { find: () => Promise.reject(new Error("it was looked at")) } as never;
  const ask = { tree, path: "app", app: "app", env: {}, repo: { url: "https://h/x" } };
  expect(await expecting.discover(ask)).toMatchObject({ kind: "again", message: "plugin late is not there yet" });
  await sidecar("late", { version: "v1", generate: sh("true") });
  expect(await expecting.discover(ask)).toEqual({ kind: "done", value: false });
  expect(await bench.names(bench.request(name, { path: "app" }))).toEqual(["plain"]);
});

const hostile: [string, object, Record<string, string>, RegExp][] = [
  [
    "prints without end",
    sh("yes y"),
    { OUTPOST_PLUGIN_OUTPUT: "100000" },
    /^SourceTooLarge: plugin bad: .*more than 100000 bytes/,
  ],
  [
    "does not end",
    sh("sleep 1000"),
    { OUTPOST_PLUGIN_TIMEOUT: "0.3" },
    /^SourceTooLarge: plugin bad: .*did not end in time/,
  ],
  ["fails", sh("echo why >&2; exit 3"), {}, /^PluginFailed: plugin bad: sh ended with 3: why/],
  ["is not there", { command: ["/nonexistent/tool"] }, {}, /^PluginFailed: plugin bad: tool is not installed/],
  ["prints what is not an object", sh("echo '- 1'"), {}, /^ManifestInvalid: output of plugin bad/],
  [
    "prints a bomb",
    sh("echo 'a: &a [x,x]'; for i in b c d e f g h i j k l m n; do echo \"$i: [*a,*a]\"; done"),
    {},
    /^ManifestInvalid/,
  ],
];
test.each(hostile)("a plugin that %s is ended, and the application is told why", async (_, generate, env, want) => {
  await sidecar("bad", { generate }, env);

  const started = Date.now();
  expect(await bench.names(bench.request(name, { path: "app", plugin: { name: "bad" } }))).toMatch(want);
  expect(Date.now() - started).toBeLessThan(within(10_000));
});

test("what a plugin leaves running is ended with it", async () => {
  const pid = join(folder, "left.pid");
  await sidecar(
    "leaver",
    { generate: sh(`sleep 1000 >/dev/null 2>&1 & echo $! > ${pid}; sleep 1000`) },
    { OUTPOST_PLUGIN_TIMEOUT: "0.3" },
  );

  expect(await bench.names(bench.request(name, { path: "app", plugin: { name: "leaver" } }))).toMatch(
    /^SourceTooLarge/,
  );
  const left = readFileSync(pid, "utf8").trim();
  // The first process of the machine may be slow to reap a dead one.
  const status = join("/proc", left, "status");
  expect(existsSync(status) ? /^State:\s+(\S)/m.exec(readFileSync(status, "utf8"))?.[1] : "Z").toBe("Z");
});

/** An archive that a repo server would never make. */
function archive(path: string, type = "0"): Buffer {
  const header = Buffer.alloc(512);
  header.write(path, 0);
  header.write("0000644\0", 100);
  header.write("00000000001\0", 124);
  header.write("        ", 148);
  header.write(type, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return gzipSync(Buffer.concat([header, Buffer.from("x".padEnd(512, "\0")), Buffer.alloc(1_024)]));
}
const escapes: [string, Buffer, string, RegExp][] = [
  ["a file above", archive("../evil"), ".", /refused/],
  ["an absolute file", archive("/tmp/evil"), ".", /refused/],
  ["a link", archive("evil", "2"), ".", /not a plain file/],
  ["an application above", archive("a"), "../..", /outside of the files/],
  ["an absolute application", archive("a"), "/etc", /outside of the files/],
  ["no archive", Buffer.from("nothing"), ".", /cannot be unpacked/],
  ["a header that was changed", gzipSync(Buffer.alloc(1_024, "x")), ".", /the archive is damaged/],
  ["a bomb", gzipSync(Buffer.alloc(200_000_000)), ".", /cannot be unpacked/],
];
test.each(escapes)("a sidecar takes nothing that leads out of its folder: %s", async (_, bytes, path, want) => {
  await sidecar("safe", { generate: sh("touch ran") });
  const client = new PluginClient("safe", join(sockets, "safe.sock"));
  const got = await client.generate({ archive: bytes, app: "a", path, env: [] });
  expect(got).toMatchObject({ kind: "stop", message: expect.stringMatching(want) });
  expect(existsSync(join(folder, "evil")) || existsSync("/tmp/evil")).toBe(false);
});

test("another configuration or version is other content; a commit beside the files that are read is not", async () => {
  const name = await bench.repository(FILES);
  const key = async (version: string, script: string, generatePaths?: string[]) => {
    await sidecar("keyed", { version, generate: sh(script) });
    const got = await bench.service.render(
      bench.request(name, { path: "app", plugin: { name: "keyed" } }, { generatePaths }),
    );
    await running.pop()!();
    if (got.kind !== "done") throw new Error(got.message);
    return got.value.key;
  };
  const first = await key("v1", "true");
  expect(await key("v1", "true")).toBe(first);
  expect(await key("v2", "true")).not.toBe(first);
  expect(await key("v1", "true; true")).not.toBe(first);
  const narrow = await key("v1", "true", [".", "/beside.txt"]);
  await bench.git.commit(name, { "other/x.txt": "changed" }, "beside");
  expect(await key("v1", "true", [".", "/beside.txt"])).toBe(narrow);
  expect(await key("v1", "true")).not.toBe(first);
  await bench.git.commit(name, { "beside.txt": "changed" }, "read");
  expect(await key("v1", "true", [".", "/beside.txt"])).not.toBe(narrow);
});

test("a script of the repository may be run when the plugin keeps modes, and not otherwise", async () => {
  const name = await bench.repository({ "app/run.sh": { exec: `#!/bin/sh\necho '${configMap("ran").trim()}'\n` } });
  const generate = { command: ["./run.sh"] };
  await sidecar("keeps", { generate, preserveFileMode: true });
  await sidecar("drops", { generate });
  expect(await bench.names(bench.request(name, { path: "app", plugin: { name: "keeps" } }))).toEqual(["ran"]);
  expect(await bench.names(bench.request(name, { path: "app", plugin: { name: "drops" } }))).toMatch(/^PluginFailed/);
});

describe("Git credentials", () => {
  const secret = "a password+of/git";
  let repo: RepoAccess;
  beforeAll(async () => {
    await bench.git.createRepository("team/closed", {
      users: { ana: secret },
      files: { "app/a.yaml": configMap("a") },
    });
    repo = { url: bench.git.cloneUrl("team/closed"), username: "ana", password: new Secret(secret) };
  });
  const made = (plugin: string, more: Partial<RepoAccess> = {}) => {
    const asked = bench.request(
      "none",
      { repoURL: repo.url, path: "app", plugin: { name: plugin } },
      { repo: { ...repo, ...more } },
    );
    return bench.service.render({ ...asked, freshness: "hard" });
  };
  /** What git finds out, and what a program could see in its environment. */
  const lists = (url: string) =>
    sh(
      `head=$(git ls-remote "${url}" HEAD 2>&1 | cut -c1-40)
       printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: made}\ndata:\n  head: "%s"\n  env: "%s"\n  asks: "%s"\n' "$head" "$(env | grep -c -e 'a password' -e ASKPASS_NONCE)" "\${GIT_ASKPASS:+yes}"`,
    );

  test("are lent to a plugin whose file asks for them, for the repository's own host, and to no other", async () => {
    await sidecar("lent", { generate: lists("$ARGOCD_APP_SOURCE_REPO_URL"), provideGitCreds: true });
    await sidecar("plain", { generate: lists("$ARGOCD_APP_SOURCE_REPO_URL") });
    const [lent, plain] = [await made("lent"), await made("plain")];
    if (lent.kind !== "done" || plain.kind !== "done") throw new Error(JSON.stringify([lent, plain]));
    expect(lent.value.objects![0]!.data).toEqual({ head: lent.value.revision, env: "0", asks: "yes" });
    expect(plain.value.objects![0]!.data.head).not.toBe(plain.value.revision);
    expect(plain.value.objects![0]!.data.asks).toBe("");
    // Another host, by another name of it, gets no answer.
    const other = bench.git.cloneUrl("team/closed").replace("127.0.0.1", "localhost");
    await sidecar("other", { generate: lists(other), provideGitCreds: true });
    const elsewhere = await made("other");
    if (elsewhere.kind === "done") expect(elsewhere.value.objects![0]!.data.head).not.toBe(elsewhere.value.revision);
  });

  test("are not lent any more when the rendering is over, and nobody gets them by a number of his own", async () => {
    const kept = join(folder, "kept");
    await sidecar("keeper", {
      generate: sh(`cat "$GIT_ASKPASS" > /dev/null; echo "$GIT_ASKPASS" > ${kept}; true`),
      provideGitCreds: true,
    });
    expect(await made("keeper")).toMatchObject({ kind: "done" });
    expect(existsSync(readFileSync(kept, "utf8").trim())).toBe(false);
    const job = (nonce: string) => ({
      env: Object.entries({
        ARGOCD_GIT_ASKPASS_NONCE: nonce,
        ARGOCD_ASK_PASS_SOCK: join(sockets, ".ask-pass.sock"),
        ARGOCD_APP_SOURCE_REPO_URL: repo.url,
      }).map(([name, value]) => ({ name, value })),
    });
    const asks = { provideGitCreds: true } as Parameters<typeof borrow>[0];
    expect(await borrow(asks, job("guess"), { folder })).toMatchObject({
      kind: "again",
      message: expect.stringMatching(/there are none/),
    });
  });

  test("of a scope above are lent to no plugin of a tenant's application, which runs without them", async () => {
    await sidecar("lent", { generate: lists("$ARGOCD_APP_SOURCE_REPO_URL"), provideGitCreds: true });
    await sidecar("plain", { generate: lists("$ARGOCD_APP_SOURCE_REPO_URL") });
    const refused = await made("lent", { borrowed: true });
    expect(refused).toMatchObject({
      kind: "stop",
      reason: "CredentialsNotLent",
      message: expect.stringMatching(/scope above/),
    });
    expect(await made("plain", { borrowed: true })).toMatchObject({ kind: "done" });
  });

  test("of SSH are lent to none", async () => {
    await sidecar("lent", { generate: sh("true"), provideGitCreds: true });
    const plugins = new Plugins(sockets);
    const ask = {
      tree: undefined as never,
      path: "",
      app: "a",
      env: {} as never,
      repo: { url: "git@host:x" },
      settings: { name: "lent" },
    };
    expect(await plugins.plan(ask)).toMatchObject({
      kind: "stop",
      message: expect.stringMatching(/a key of SSH is lent to none/),
    });
  });
});

describe("parameters that a plugin announces", () => {
  const archive = gzipSync(Buffer.alloc(1_024));
  const ask = (name: string) =>
    new PluginClient(name, join(sockets, `${name}.sock`)).parameters({
      archive,
      app: "a",
      path: ".",
      env: [{ name: "ARGOCD_APP_NAME", value: "a" }],
    });
  const fixed = [
    {
      name: "values",
      title: "Values",
      tooltip: "files",
      required: true,
      itemType: "string",
      collectionType: "array",
      array: ["a", ""],
    },
    { name: "labels", collectionType: "map", map: { "x-y": "z", empty: "" } },
  ];

  test("are those of its file after those that its command finds", async () => {
    await sidecar("speaks", {
      generate: sh("true"),
      parameters: {
        static: fixed,
        dynamic: sh(`printf '[{"name":"of-%s","string":"1","required":true}]' "$ARGOCD_APP_NAME"`),
      },
    });
    await sidecar("silent", { generate: sh("true") });
    expect(await ask("speaks")).toEqual({
      kind: "done",
      value: [{ name: "of-a", string: "1", required: true }, ...fixed],
    });
    expect(await ask("silent")).toEqual({ kind: "done", value: [] });
  });

  test.each<[string, string, RegExp]>([
    ["no JSON", "echo no", /printed no JSON/],
    ["no list", "echo '{}'", /must be a list/],
    ["a parameter without a name", `echo '[{"title":"x"}]'`, /\[0\]\.name is required/],
    ["a type that is none", `echo '[{"name":"a","collectionType":"set"}]'`, /must be string, array or map/],
  ])("%s is told", async (_, script, want) => {
    await sidecar("wrong", { generate: sh("true"), parameters: { dynamic: sh(script) } });
    expect(await ask("wrong")).toMatchObject({ kind: "stop", message: expect.stringMatching(want) });
  });
});

test("a plugin is another tool's business: a source that names two is refused, one that no sidecar is there for too", async () => {
  expect(await bench.names(bench.request(name, { path: "app", plugin: { name: "x" }, helm: {} }))).toMatch(
    /multiple application sources defined: Helm,Plugin/,
  );
  expect(await bench.names(bench.request(name, { path: "app", plugin: { name: "x" } }))).toMatch(/^PluginNotFound/);
  expect(await bench.names(bench.request(name, { path: "app", plugin: { env: "x" } as never }))).toMatch(
    /source\.plugin\.env must be a list/,
  );
});

const HEAD = { apiVersion: "argoproj.io/v1alpha1", kind: "ConfigManagementPlugin", metadata: { name: "p" } };
const wrong: [string, object, RegExp][] = [
  ["another kind", { ...HEAD, kind: "ConfigMap" }, /is not an argoproj.io\/v1alpha1 ConfigManagementPlugin/],
  ["no command", { ...HEAD, spec: {} }, /spec\.generate\.command is required/],
  ["a name that is a path", { ...HEAD, metadata: { name: "../x" }, spec: { generate: sh("true") } }, /metadata\.name/],
  [
    "a pattern that leads out",
    { ...HEAD, spec: { generate: sh("true"), discover: { fileName: "../*" } } },
    /must stay inside/,
  ],
  [
    "a word that is an object",
    { ...HEAD, spec: { generate: { command: [{}] } } },
    /spec\.generate\.command\[0\] must be a text/,
  ],
];
test.each(wrong)("a plugin's file with %s is refused by its field", (_, file, want) => {
  expect(readConfig(stringify(file), "plugin.yaml")).toMatchObject({
    kind: "stop",
    message: expect.stringMatching(want),
  });
});
