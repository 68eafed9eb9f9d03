import { type ProjectSpec, permitsDestination, permitsKind, permitsSource } from "./permits.ts";

test.each<[string[], string, boolean]>([
  [["*"], "https://git.example.com/a", true],
  [[], "https://git.example.com/a", false],
  [["https://GIT.example.com/a.git"], "https://git.example.com/a", true],
  [["https://git.example.com/*"], "https://git.example.com/a/b", false],
  [["https://git.example.com/**"], "https://git.example.com/a/b", true],
  [["!https://git.example.com/**"], "https://other.example.com/a", true],
  [["*", "!https://git.example.com/**"], "https://git.example.com/a/b", false],
  [["git@git.example.com:a/b"], "ssh://git@git.example.com/a/b.git", true],
  [["https://git.example.com/a"], "git@git.example.com:a", false],
  [["https://git.example.com/a/**"], "https://git.example.com/a/../b", false],
  [["https://git.example.com/a/*"], "https://git.example.com/a/..\\b", false],
  [["https://git.example.com/a/*"], "https://git.example.com/a/%2e%2e%2fb", false],
  [["https://git.example.com/a/*"], "https://git.example.com/a/..%5Cb", false],
  [["git@git.example.com:a/**"], "git@git.example.com:a/../b", false],
  [["oci://git.example.com/a/**"], "oci://git.example.com/a/./../b", false],
  [["https://git.example.com/a/*"], "https://git.example.com/a/..b", true],
  [["https://git.example.com/{a,b}"], "https://git.example.com/a", false],
  // A letter that a path must not have makes Go escape the whole path: nothing in it is a pattern any more.
  [["https://git.example.com/a\\[1\\]"], "https://git.example.com/a[1]", false],
  [["https://git.example.com/a\\*"], "https://git.example.com/a*", false],
  [["https://git.example.com/team\\-a/*"], "https://git.example.com/team-a/code", false],
  [["https://git.example.com/a b/*"], "https://git.example.com/a b/c", false],
  [["https://git.example.com/a b"], "https://git.example.com/a%20b", true],
  [["https://git.example.com/ä/*"], "https://git.example.com/ä/c", false],
  [["https://git.example.com/ä"], "https://git.example.com/%C3%A4", false],
  [["a\\[1\\]"], "a[1]", false],
  [["https://{a,b}.example.com/c"], "https://a.example.com/c", false],
  [["https://git.example.com/a%zz/*"], "https://git.example.com/a%zz/b", false],
  // Classes are one range or some letters.
  [["https://git.example.com/a[12]"], "https://git.example.com/a1", true],
  [["https://git.example.com/a[!1]"], "https://git.example.com/a2", true],
  [["https://git.example.com/a[1-3]"], "https://git.example.com/a2", true],
  [["https://git.example.com/a[a-c1-3]"], "https://git.example.com/a2", false],
  [["https://git.example.com/a[1"], "https://git.example.com/a[1", false],
  [["https://git.example.com/{a,b}"], "https://git.example.com/{a,b}", true],
  [["*", "!https://git.example.com/{a,b}"], "https://git.example.com/a", false],
])("sources %j permit %s: %j", (sourceRepos, url, want) => {
  expect(permitsSource({ sourceRepos }, url)).toBe(want);
});

test.each([
  "https://u@git.example/secret/a",
  "https://u:p@git.example/secret/a",
  "https://git.example:443/secret/a",
  "https://git.example//secret/a",
  "https://git.example./secret/a",
  "https://git.example/secret/a/",
  "https://git.example/secret/a.git/",
  "https://git.example/%73ecret/a",
  "https://git.example/secret%2fa",
  "https://git\u3002example/secret/a",
  "https:///git.example/secret/a",
  "https://git.example/secret/a?x=/y",
  "https://u@git.example:0443//%73ecret//a.git/",
  "git@git.example:other/a",
  "root@git.example:other/a",
  "ssh://git.example:22/other/a",
  "ssh://root@git.example.:22//%6fther/a/",
  "oci://reg.example:443/charts/",
])("a denied source stays denied when it is written as %s", (url) => {
  const sourceRepos = ["*", "!https://git.example/secret/*", "!git@git.example:other/*", "!oci://reg.example/charts"];
  expect(permitsSource({ sourceRepos }, url)).toBe(false);
});

test.each(["https://git.example/secrets/a", "ssh://git@git.example:443/other/a", "https://git.example:8443/secret/a"])(
  "another place than a denied one stays permitted: %s",
  (url) => {
    const sourceRepos = ["*", "!https://git.example/secret/*", "!git@git.example:other/*"];
    expect(permitsSource({ sourceRepos }, url)).toBe(true);
  },
);

const ALL = { server: "*", namespace: "*" };
const here = { server: "https://kubernetes.default.svc", name: "in-cluster", namespace: "a" };
test.each<[string, ProjectSpec["destinations"], boolean]>([
  ["everything", [{ server: "*", namespace: "*" }], true],
  ["nothing", [], false],
  ["by name", [{ name: "in-*", namespace: "a" }], true],
  ["another namespace", [{ server: "*", namespace: "b" }], false],
  [
    "a denied namespace",
    [
      { server: "*", namespace: "*" },
      { server: "*", namespace: "!a" },
    ],
    false,
  ],
  ["only another one is denied", [{ server: "*", namespace: "!b" }], true],
  [
    "a denied cluster",
    [
      { server: "*", namespace: "*" },
      { server: "!https://kubernetes.default.svc", namespace: "*" },
    ],
    false,
  ],
  ["a cluster denied by name, without a namespace", [ALL, { name: "!in-cluster" }], false],
  ["a cluster denied by name, with another namespace", [ALL, { name: "!in-cluster", namespace: "app-*" }], false],
  ["another cluster denied by name", [ALL, { name: "!prod", namespace: "app-*" }], true],
  [
    "a cluster denied by server, with another namespace",
    [ALL, { server: "!https://kubernetes.default.svc", namespace: "app-*" }],
    true,
  ],
  ["a cluster denied by server, without a namespace", [ALL, { server: "!https://kubernetes.default.svc" }], true],
  ["a namespace denied beside a server", [ALL, { server: "https://kubernetes.default.svc", namespace: "!a" }], false],
  ["a namespace denied beside a name only", [ALL, { name: "in-cluster", namespace: "!a" }], true],
  ["a namespace denied beside another server", [ALL, { server: "https://prod", namespace: "!a" }], true],
  ["a deny alone permits nothing that it names", [{ name: "!in-cluster", namespace: "*" }], false],
  ["a denied cluster, before the entry that permits", [{ name: "!in-cluster" }, ALL], false],
])("destination: %s", (_name, destinations, want) => {
  expect(permitsDestination({ destinations }, here)).toBe(want);
});

const deployment = { group: "apps", kind: "Deployment", name: "d", namespaced: true };
const namespace = { group: "", kind: "Namespace", name: "team-a", namespaced: false };
test.each<[string, ProjectSpec, typeof deployment, boolean]>([
  ["namespaced: no lists", {}, deployment, true],
  ["namespaced: an empty allow list", { namespaceResourceWhitelist: [] }, deployment, false],
  ["namespaced: listed", { namespaceResourceWhitelist: [{ group: "apps", kind: "*" }] }, deployment, true],
  [
    "namespaced: denied beats listed",
    {
      namespaceResourceWhitelist: [{ group: "*", kind: "*" }],
      namespaceResourceBlacklist: [{ group: "apps", kind: "Deployment" }],
    },
    deployment,
    false,
  ],
  ["cluster-wide: no lists", {}, namespace, false],
  [
    "cluster-wide: listed by name",
    { clusterResourceWhitelist: [{ group: "", kind: "Namespace", name: "team-*" }] },
    namespace,
    true,
  ],
  [
    "cluster-wide: another name",
    { clusterResourceWhitelist: [{ group: "", kind: "Namespace", name: "kube-*" }] },
    namespace,
    false,
  ],
  [
    "cluster-wide: denied",
    {
      clusterResourceWhitelist: [{ group: "*", kind: "*" }],
      clusterResourceBlacklist: [{ group: "", kind: "Namespace" }],
    },
    namespace,
    false,
  ],
])("%s", (_name, spec, kind, want) => {
  expect(permitsKind(spec, kind)).toBe(want);
});

test("patterns that are slow together permit nothing and keep nobody waiting", () => {
  const slow = (head: string, length: number) => `${head}${"*a".repeat((length - head.length - 1) / 2)}b`;
  const many = (pattern: string) => Array<string>(500).fill(pattern);
  const long = `https://h/${"a".repeat(2_000)}`;
  const name = "a".repeat(63);
  const begun = performance.now();
  expect(permitsSource({ sourceRepos: [...many(slow("https://h/", 2_048)), "**"] }, long)).toBe(false);
  const destinations = [
    ...many(slow("https://h/", 2_048)).map((server) => ({ server, namespace: "*" })),
    { server: "*", namespace: "*" },
  ];
  expect(permitsDestination({ destinations }, { server: long, name: "", namespace: "a" })).toBe(false);
  const denied = many(slow("", 128)).map((kind) => ({ group: slow("", 253).slice(0, -1), kind }));
  expect(permitsKind({ namespaceResourceBlacklist: denied }, { group: name, kind: name, name, namespaced: true })).toBe(
    false,
  );
  const sets = [
    ...many("{a,b}".repeat(50)).map((namespace) => ({ server: "*", namespace })),
    { server: "*", namespace: "*" },
  ];
  expect(permitsDestination({ destinations: sets }, { server: "https://a", name: "", namespace: name })).toBe(false);
  expect(performance.now() - begun).toBeLessThan(2_000);
});

test("a thousand ordinary patterns are within the bound", () => {
  const sourceRepos = Array.from({ length: 1_000 }, (_, i) => `https://git.example.com/team-${i}/*-service`);
  expect(permitsSource({ sourceRepos }, "https://git.example.com/team-999/billing-and-invoices-service.git")).toBe(
    true,
  );
});

test.each<[ProjectSpec, string, boolean]>([
  [{ namespaceResourceWhitelist: [{ group: "", kind: "{Secret,Job}" }] }, "Secret", false],
  [{ namespaceResourceBlacklist: [{ group: "", kind: "{Secret,Job}" }] }, "Secret", true],
  [{ namespaceResourceBlacklist: [{ group: "*", kind: "Sec[a-r]et" }] }, "Secret", false],
  [{ namespaceResourceWhitelist: null, namespaceResourceBlacklist: null } as unknown as ProjectSpec, "Secret", true],
  [{ namespaceResourceWhitelist: [] }, "Secret", false],
])("braces are letters in lists of kinds, and a list of null is none: %j, %s", (spec, kind, want) => {
  expect(permitsKind(spec, { group: "", kind, name: "a", namespaced: true })).toBe(want);
});
