import { readdirSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The rules of the house which a reviewer would otherwise have to remember. */
const root = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");
const SKIP =
  /(^|\/)(node_modules|dist|\.git|\.test|\.quickstart|\.journeys[^/]*|\.terraform|cdktf\.out|coverage)(\/|$)/;
const files = walk(root).map((f) => relative(root, f));
const sources = files.filter((f) => /\.(ts|mjs|mts)$/.test(f));
const generated = (f: string) => /(^|\/)(contract|generated|bindings)\//.test(f);
const forTests = (f: string) => f.startsWith("test/") || /\.test\.ts$|(^|\/)testing(\/|\.ts$)|(^|\/)scale\//.test(f);
const product = sources.filter((f) => !forTests(f) && !generated(f) && f.endsWith(".ts"));

/** Room → rooms whose files it may import, besides its own. The longest name that fits a file is its room. */
const ROOMS: Record<string, string[]> = {
  openapi: [],
  "server/base": ["openapi"],
  "server/link": ["openapi", "server/base"],
  "server/kube": ["server/base"],
  "server/agent": ["openapi", "server/base", "server/link", "server/kube"],
  // Only what an object is and how it is written, not the way to a cluster.
  "server/agent/repo": [
    "openapi",
    "server/base",
    "server/agent/cache",
    "server/agent/model",
    "server/agent/project/permits.ts",
    "server/kube/object.ts",
    "server/kube/yaml.ts",
  ],
  "server/agent/plugin": ["openapi", "server/base", "server/agent/repo", "server/kube/yaml.ts"],
  "server/agent/cache": ["server/base"],
  // The shape of Argo CD's objects, which all rooms of the agent share.
  "server/agent/model": [],
  "server/agent/project": ["openapi", "server/base", "server/agent/model", "server/kube/object.ts"],
  "server/agent/appset": [
    "openapi",
    "server/base",
    "server/kube",
    "server/agent/model",
    "server/agent/repo",
    "server/agent/project",
  ],
  // Templates see nothing of the agent: no clock but the one they are given, no file, no cluster.
  "server/agent/appset/template": ["openapi/rules", "server/base", "server/kube/yaml.ts"],
  "server/agent/controller": [
    "openapi",
    "server/base",
    "server/kube",
    "server/agent/repo",
    "server/agent/cache",
    "server/agent/model",
    "server/agent/project",
    "server/agent/appset",
  ],
  "server/delegate": ["openapi", "server/base", "server/link", "server/kube"],
  "server/control": ["openapi", "server/base"],
  "server/control/domain": ["openapi", "server/base"],
  "server/control/store": ["openapi", "server/base", "server/control/domain"],
  "server/control/domain/rules": ["openapi", "server/base", "server/control/domain"],
  "server/control/store/database": ["server/control/domain/problem.ts", "server/control/store/generated"],
  "server/control/store/identity": ["server/control/domain/scope.ts", "server/control/store/database"],
  "server/control/store/objects": ["openapi", "server/base", "server/control/domain", "server/control/store/database"],
  "server/control/access": ["openapi", "server/base", "server/control/domain", "server/control/store"],
  "server/control/tasks": ["openapi", "server/base", "server/control/domain", "server/control/store"],
  "server/control/tasks/queue": [
    "server/base",
    "server/control/domain",
    "server/control/store/database",
    "server/control/store/identity",
  ],
  "server/control/strangers": ["server/base", "server/control/domain", "server/control/store", "server/control/access"],
  "server/control/api": [
    "openapi",
    "server/base",
    "server/control/domain",
    "server/control/store",
    "server/control/access",
    "server/control/tasks",
    "server/control/strangers",
    // The manifests that the service hands out are rendered from the charts, and pure.
    "modules/install",
  ],
  "server/control/api/http": [
    "openapi",
    "server/base",
    "server/control/domain",
    "server/control/store/objects",
    "server/control/strangers",
  ],
  "server/cli": ["openapi", "server/base"],
  "server/cli/programs.ts": ["server/base", "server/control", "server/agent", "server/delegate", "server/cli"],
  provider: ["openapi"],
  modules: ["openapi", "provider"],
  examples: ["modules"],
};
/** Rooms below which a room of the table may import freely: `server/control/main.ts` sees all of control. */
const inside = (room: string, file: string) => file === room || file.startsWith(`${room}/`);
const roomOf = (file: string) =>
  Object.keys(ROOMS)
    .filter((room) => inside(room, file))
    .sort((a, b) => b.length - a.length)[0];

const imports = new Map(product.map((f) => [f, importsOf(f)]));

test("every source file belongs to a room", () => {
  expect(product.filter((f) => !roomOf(f))).toEqual([]);
});

test("imports go one way", () => {
  const wrong: string[] = [];
  for (const [file, targets] of imports) {
    const room = roomOf(file);
    if (!room) continue;
    for (const target of targets.filter((t) => t !== "package.json")) {
      if (
        inside(room, target) ||
        ROOMS[room]!.some(
          (r) =>
            inside(r, target) && (r !== "server/agent" || room.startsWith("server/cli") || room === "server/agent"),
        )
      )
        continue;
      wrong.push(`${file} imports ${target}`);
    }
  }
  expect(wrong).toEqual([]);
});

test("folders do not import each other in circles", () => {
  const graph = new Map<string, Set<string>>();
  for (const [file, targets] of imports)
    for (const target of targets) {
      const [from, to] = [dirname(file), dirname(target)];
      // A folder and what is nested in it are one room.
      if (from === to || inside(from, to) || inside(to, from)) continue;
      if (!graph.has(from)) graph.set(from, new Set());
      graph.get(from)!.add(to);
    }
  expect(circles(graph)).toEqual([]);
});

test("files do not import each other in circles, not even for a type", () => {
  expect(
    circles(
      new Map([...imports].map(([file, targets]) => [file, new Set(targets.filter((target) => imports.has(target)))])),
    ),
  ).toEqual([]);
});

const ENOUGH = 15;

test("a folder holds at most fifteen product files", () => {
  const counts = new Map<string, number>();
  for (const file of product) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
  expect([...counts].filter(([, count]) => count > ENOUGH)).toEqual([]);
});

test("no product file imports what is for tests", () => {
  expect(
    [...imports].flatMap(([f, targets]) => targets.filter((t) => forTests(t)).map((t) => `${f} imports ${t}`)),
  ).toEqual([]);
});

test("relative imports say the file's whole name", () => {
  expect(
    [...imports].flatMap(([f, targets]) =>
      targets.filter((t) => !/\.(ts|js|mjs|json)$/.test(t)).map((t) => `${f}: ${t}`),
    ),
  ).toEqual([]);
});

/** Lines of one file: a longer one holds more than one idea. Tables of cases in tests may be longer. */
const LINES = { product: 460, tests: 530 };

test("files are short", () => {
  const bound = (f: string) => (/\.test\.ts$|\/testing\/|^test\//.test(f) ? LINES.tests : LINES.product);
  const long = sources
    .filter((f) => !generated(f))
    .map((f) => [f, lines(f)] as const)
    .filter(([f, n]) => n > bound(f));
  expect(long).toEqual([]);
});

test("every room has a README", () => {
  const rooms = new Set(Object.keys(ROOMS).filter((r) => !r.endsWith(".ts") && sources.some((f) => inside(r, f))));
  for (const f of ["test", "test/cluster", "test/servers", "test/journeys"])
    if (sources.some((s) => inside(f, s))) rooms.add(f);
  expect([...rooms].filter((r) => !files.includes(`${r}/README.md`))).toEqual([]);
});

test("nothing unfinished and nothing of one machine is left in a file", () => {
  const words: [string, RegExp][] = [
    ["a note to finish it later", /\b(TODO|FIXME|XXX)\b/],
    ["a test that hides the others", /\b(test|describe|it)\.only\(/],
    ["a path of this machine", new RegExp(`${literal(root)}/|${literal(homedir())}/`)],
    ["a shell between this program and another", /\bshell:\s*true\b/],
  ];
  const texts = files.filter(
    (f) => /\.(ts|mjs|mts|md|ya?ml|tf|tpl|sh|go)$/.test(f) && !generated(f) && f !== "test/house.test.ts",
  );
  const found = texts.flatMap((f) =>
    words
      .filter(([, pattern]) => pattern.test(readFileSync(join(root, f), "utf8")))
      .map(([what]) => `${f} has ${what}`),
  );
  expect(found).toEqual([]);
});

test("the tests that GUARANTEES names are there", () => {
  const named = [...readFileSync(join(root, "test/GUARANTEES.md"), "utf8").matchAll(/`([\w/.-]+\.test\.ts)`/g)].map(
    (m) => m[1]!,
  );
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((f) => !files.includes(f))).toEqual([]);
});

test("no secret is printed: reveal() is only called where a secret leaves for its purpose", () => {
  const logged = product.filter((f) =>
    /(console|log|logger)\.\w+\([^\n]*\.reveal\(/.test(readFileSync(join(root, f), "utf8")),
  );
  expect(logged).toEqual([]);
});

function walk(dir: string): string[] {
  return readdirSync(dir).flatMap((name) => {
    const path = join(dir, name);
    if (SKIP.test(relative(root, path))) return [];
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat?.isDirectory()) return walk(path);
    return stat?.isFile() ? [path] : [];
  });
}

function importsOf(file: string): string[] {
  const text = readFileSync(join(root, file), "utf8");
  // Types vanish when it runs, and yet they are knowledge: they count.
  const found = [
    ...text.matchAll(
      /(?:^|\n)\s*(?:import|export)\s[^;"']*?from\s+["'](\.[^"']+)["']|import\(\s*["'](\.[^"']+)["']\s*\)|(?:^|\n)import\s+["'](\.[^"']+)["']/g,
    ),
  ];
  return [...new Set(found.map((m) => relative(root, resolve(root, dirname(file), (m[1] ?? m[2] ?? m[3])!))))];
}

/** The strongly connected parts with more than one folder (Tarjan). */
function circles(graph: Map<string, Set<string>>): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const result: string[][] = [];
  const visit = (v: string) => {
    index.set(v, index.size);
    low.set(v, index.get(v)!);
    stack.push(v);
    for (const w of graph.get(v) ?? []) {
      if (!index.has(w)) {
        visit(w);
        low.set(v, Math.min(low.get(v)!, low.get(w)!));
      } else if (stack.includes(w)) low.set(v, Math.min(low.get(v)!, index.get(w)!));
    }
    if (low.get(v) !== index.get(v)) return;
    const part = stack.splice(stack.indexOf(v));
    if (part.length > 1) result.push(part.sort());
  };
  for (const v of graph.keys()) if (!index.has(v)) visit(v);
  return result;
}

function lines(file: string): number {
  return readFileSync(join(root, file), "utf8").trimEnd().split("\n").length;
}
function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
