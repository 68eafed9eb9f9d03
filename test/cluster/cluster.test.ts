import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { call, listenThrough, parseTarget, serveBridge, tunnel } from "./bridge.ts";
import { cacheRoot, once } from "./cache.ts";
import { groupFolders, makeGroup, removeGroup } from "./cgroups.ts";
import { lackLines } from "./checks.ts";
import { configFiles } from "./config.ts";
import { wouldInstall } from "./debian.ts";
import { isBuildOf } from "./image.ts";
import { startNode } from "./node.ts";
import { describeImage, packLayer } from "./oci.ts";
import { components, type Plan } from "./plan.ts";
import { alive, owner } from "./process.ts";
import { elapsed } from "./progress.ts";
import { recipes } from "./recipes.ts";
import { loaded, merged } from "./rootfs.ts";
import { mirrorPath, terraformConfig } from "./terraform.ts";
import { locate, missingTools, toolFolder } from "./tools.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "cluster-test-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

test.each([
  [0, "0.0 s"],
  [1449, "1.4 s"],
  [9949, "9.9 s"],
  [9950, "10 s"],
  [59_400, "59 s"],
  [185_000, "3 min 05 s"],
])("%d ms is said as %s", (ms, want) => expect(elapsed(ms)).toBe(want));

test("the cache is where the environment says", () => {
  expect(cacheRoot({ OUTPOST_CACHE: "/x" })).toBe("/x");
  expect(cacheRoot({ OUTPOST_CACHE: "" })).toMatch(/\.cache\/outpost$/);
});

test("a tool's folder is named by go.mod and go.sum", () => {
  mkdirSync(join(dir, "t"));
  writeFileSync(join(dir, "t/go.mod"), "a");
  writeFileSync(join(dir, "t/go.sum"), "bc");
  // printf abc | sha256sum | cut -c1-12
  expect(toolFolder({ name: "t" }, "/cache", dir)).toBe("/cache/tools/t-ba7816bf8f01");
});

test("every recipe has its module files, and every program a name of its own", () => {
  for (const recipe of recipes) expect(toolFolder(recipe, "/c")).toMatch(/-[0-9a-f]{12}$/);
  const programs = recipes.flatMap((recipe) => Object.keys(recipe.programs));
  expect(new Set(programs).size).toBe(programs.length);
});

test("what is on demand is neither built nor missed unless it is named", async () => {
  const missing = await missingTools();
  for (const { name, onDemand } of recipes) if (onDemand) expect(missing).not.toContain(name);
  // The check before the quickstart counts the folders of tools/ as needed.
  const always = recipes.filter((r) => !r.onDemand).map((r) => r.name);
  expect(readdirSync(new URL("tools", import.meta.url)).sort()).toEqual(always.sort());
});

test("programs are found under whichever name go gave them", () => {
  const recipe = recipes.find(({ name }) => name === "etcd")!;
  expect(locate(recipe, "/d", (path) => path === "/d/v3")).toEqual({ etcd: "/d/v3" });
  expect(() => locate(recipe, "/d", () => false)).toThrow(/has no etcd: remove it/);
});

describe("once", () => {
  test("makes, marks, and does not make again", async () => {
    let made = 0;
    const make = async () => void made++;
    await Promise.all([once(join(dir, "a"), make), once(join(dir, "a"), make)]);
    await once(join(dir, "a"), make);
    expect(made).toBe(1);
  });
  test("a failure leaves nothing in the way of the next try", async () => {
    await expect(once(join(dir, "b"), () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    await once(join(dir, "b"), async () => {});
  });
  test("the lock of a process that died is taken over", async () => {
    mkdirSync(join(dir, "c"));
    writeFileSync(join(dir, "c/.building"), "999999999");
    await once(join(dir, "c"), async () => {});
  });
});

test("only packages that are not installed at all are fetched as well", () => {
  const said =
    "Inst libnft (1.2 Debian:12 [amd64])\nInst openssh-client [1:9.2p1-2] (1:9.2p1-3 Debian:12 [amd64])\nConf libnft (1.2)\n";
  expect(wouldInstall(said)).toEqual(["libnft"]);
});

test.each([
  ["\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n", ["/lib/x86_64-linux-gnu/libc.so.6"]],
  ["\tlinux-vdso.so.1 (0x00007ffc)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n", ["/lib64/ld-linux-x86-64.so.2"]],
  ["\tlibx.so => not found\n", []],
  ["\tnot a dynamic executable\n", []],
])("libraries in %j", (given, want) => expect(loaded(given)).toEqual(want));

test.each([
  ["/lib/x/libc.so.6", "usr/lib/x/libc.so.6"],
  ["/lib64/ld.so", "usr/lib64/ld.so"],
  ["/usr/lib/y", "usr/lib/y"],
  ["/opt/lib/z", "opt/lib/z"],
])("%s goes to %s", (given, want) => expect(merged(given)).toBe(want));

test("the Terraform configuration names only the mirrors it was given", () => {
  expect(terraformConfig({ mirror: "/m" })).toBe(
    'disable_checkpoint = true\nprovider_installation {\n  filesystem_mirror {\n    path    = "/m"\n    include = ["registry.terraform.io/hashicorp/*"]\n  }\n}\n',
  );
  expect(terraformConfig({ mirror: "/m", own: "/o" })).toContain(
    'path    = "/o"\n    include = ["registry.terraform.io/outpost/*"]',
  );
  expect(mirrorPath("hashicorp/helm", "3.2.0")).toBe(
    "registry.terraform.io/hashicorp/helm/3.2.0/linux_amd64/terraform-provider-helm_v3.2.0_x5",
  );
});

test.each([
  ["127.0.0.1:80", { host: "127.0.0.1", port: 80 }],
  ["[::1]:6443", { host: "::1", port: 6443 }],
  ["a.b:65536", undefined],
  ["a.b:0", undefined],
  ["a.b", undefined],
  ["::1:80", undefined],
])("target %s", (given, want) => expect(parseTarget(given)).toEqual(want));

describe("bridge", () => {
  test("carries both ways through two sockets, and ends with either side", async () => {
    const echo = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)).listen(0, "127.0.0.1");
    await new Promise((done) => echo.once("listening", done));
    const { port } = echo.address() as { port: number };
    const bridge = await serveBridge(join(dir, "s"), (target) => target.port === port, {
      add: ({ a, b }) => ({ sum: Number(a) + Number(b) }),
    });
    const listener = await listenThrough({ host: "127.0.0.1", port: 0 }, join(dir, "s"), { host: "127.0.0.1", port });
    try {
      const socket = await tunnel(join(dir, "s"), { host: "127.0.0.1", port });
      socket.end("x".repeat(1 << 20));
      let got = 0;
      for await (const chunk of socket) got += chunk.length;
      expect(got).toBe(1 << 20);
      await expect(tunnel(join(dir, "s"), { host: "127.0.0.1", port: 1 })).rejects.toThrow(/403/);
      expect(await call(join(dir, "s"), "add", { a: 1, b: 2 })).toEqual({ sum: 3 });
      await expect(call(join(dir, "s"), "nothing")).rejects.toThrow();
    } finally {
      listener.close();
      echo.close();
      bridge.close();
      bridge.closeAllConnections();
    }
  });
  test("a target that refuses is a 502", async () => {
    const bridge = await serveBridge(join(dir, "s"), () => true);
    await expect(tunnel(join(dir, "s"), { host: "127.0.0.1", port: 1 })).rejects.toThrow(/502/);
    bridge.close();
  });
});

describe("control groups", () => {
  test("version 1: one folder for each controller, with the cpuset filled", async () => {
    for (const controller of ["cpu", "cpuset", "memory"]) mkdirSync(join(dir, controller));
    for (const file of ["cpuset.cpus", "cpuset.mems"]) writeFileSync(join(dir, "cpuset", file), "0-1");
    makeGroup("g", dir);
    expect(groupFolders("g", dir)).toEqual(["cpu", "cpuset", "memory"].map((controller) => join(dir, controller, "g")));
    for (const file of ["cpuset.cpus", "cpuset.mems"]) await rm(join(dir, "cpuset/g", file));
    mkdirSync(join(dir, "cpu/g/kubepods/pod1"), { recursive: true });
    await removeGroup("g", dir);
  });
  test("version 2: one folder", () => {
    writeFileSync(join(dir, "cgroup.controllers"), "");
    expect(groupFolders("g", dir)).toEqual([join(dir, "g")]);
  });
});

const plan: Plan = {
  name: "n",
  dir: "/d",
  programs: Object.fromEntries(
    recipes.flatMap((recipe) => Object.keys(recipe.programs).map((name) => [name, `/bin/${name}`])),
  ),
  path: [],
  libraries: [],
  cni: "/cni",
  runc: "/runc",
  cgroup: "outpost-1",
};

test("configuration stays inside the node's folder and group", () => {
  const files = configFiles(plan);
  expect(JSON.parse(files["kubelet.yaml"]!)).toMatchObject({
    cgroupRoot: "/outpost-1",
    containerRuntimeEndpoint: "unix:///d/containerd.sock",
  });
  const outside = Object.values(files)
    .join("\n")
    .match(/"\/(?!d\/|cni|runc|outpost-1)[^"]*"/g);
  expect(outside).toBeNull();
});

test("only what needs the API server waits for it", () => {
  expect(
    components(plan)
      .filter(({ after }) => !after)
      .map(({ name }) => name),
  ).toEqual(["etcd", "containerd", "kube-apiserver"]);
});

test("the same layers give the same image; another layer gives another", () => {
  const layer = (digest: string) => ({ digest, size: 1 });
  const id = (...digests: string[]) => describeImage("r:1", digests.map(layer), { Entrypoint: ["/x"] }).manifest.digest;
  expect(id("a", "b")).toBe(id("a", "b"));
  expect(id("a", "b")).not.toBe(id("a", "c"));
});

test("a layer does not depend on when and by whom its files were made", async () => {
  const digests = [];
  for (const name of ["one", "two"]) {
    mkdirSync(join(dir, name));
    writeFileSync(join(dir, name, "f"), "same");
    digests.push((await packLayer(join(dir, name), join(dir, `${name}.tar`))).digest);
  }
  expect(digests[0]).toBe(digests[1]);
});

test.each([
  ["outpost.local/outpost:dev", "outpost.local-outpost-dev-0123456789ab", true],
  ["outpost.local/outpost:dev", "outpost.local-outpost-dev-2-0123456789ab", false],
  ["outpost.local/outpost:dev", "base-0123456789ab", false],
])("%s was built into %s: %s", (reference, folder, want) => expect(isBuildOf(reference, folder)).toBe(want));

test("a process is told from a later one with its number", () => {
  const self = owner(process.pid)!;
  expect(alive(self)).toBe(true);
  expect(alive({ ...self, started: "1" })).toBe(false);
  expect(owner(999_999_999)).toBeUndefined();
});

test.each([
  [`/tmp/${"x".repeat(80)}`, /too long/],
  ["/var/lib/node", /has a \/var\/lib\/ of its own/],
  ["/run/node", /has a \/run\/ of its own/],
])("%s is refused as a folder before anything is done", async (folder, want) => {
  await expect(startNode({ name: "x", dir: folder })).rejects.toThrow(want);
});

test("what is missing is said with what to do", () => {
  expect(lackLines([{ missing: "go", whatToDo: "install it" }])).toEqual(["missing: go\n   what to do: install it"]);
});
