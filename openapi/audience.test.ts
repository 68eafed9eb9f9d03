import { audienceOf, beyond, type SealedCollection } from "./audience.ts";

type Spec = Record<string, unknown>;
const moved = (collection: SealedCollection, before: Spec, now: Spec): string[] =>
  beyond(collection, audienceOf(collection, before), audienceOf(collection, now)).map(({ field }) => field);

const GIT = { agent: "a", url: "https://git.corp/platform/app.git" };
const TEMPLATE = { agent: "a", url: "https://git.corp/platform/" };
const CLUSTER = { agent: "a", server: "https://k8s.corp:6443", caData: "pem" };
const App = (enterpriseBaseUrl?: string) => ({
  githubApp: { id: 7, ...(enterpriseBaseUrl ? { enterpriseBaseUrl } : {}) },
});
const Azure = (activeDirectoryEndpoint?: string) => ({
  azureServicePrincipal: {
    clientId: "c",
    tenantId: "t",
    ...(activeDirectoryEndpoint ? { activeDirectoryEndpoint } : {}),
  },
});

/** Each field in both directions: which one needs the credentials again? `there` is from the first to the second, `back` the other way. */
const TABLE: [SealedCollection, string, Spec, Spec, { there: string[]; back: string[] }][] = [
  ["repositories", "host", GIT, { url: "https://evil.example/platform/app.git" }, { there: ["url"], back: ["url"] }],
  [
    "repositories",
    "host of the short SSH form",
    { url: "git@git.corp:a" },
    { url: "git@evil.example:a" },
    { there: ["url"], back: ["url"] },
  ],
  ["repositories", "port", GIT, { url: "https://git.corp:8443/platform/app.git" }, { there: ["url"], back: ["url"] }],
  ["repositories", "scheme", GIT, { url: "http://git.corp:443/platform/app.git" }, { there: ["url"], back: ["url"] }],
  [
    "repositories",
    "scheme and its port",
    GIT,
    { url: "http://git.corp/platform/app.git" },
    { there: ["url", "url"], back: ["url", "url"] },
  ],
  ["repositories", "path on the same host", GIT, { url: "https://git.corp/other.git" }, { there: [], back: [] }],
  [
    "repositories",
    "spelling",
    { url: "https://GIT.corp:443/a" },
    { url: "https://git.corp/a.git" },
    { there: [], back: [] },
  ],
  [
    "repositories",
    "spelling of SSH",
    { url: "git@git.corp:a/b" },
    { url: "ssh://git@GIT.corp:22/a/b" },
    { there: [], back: [] },
  ],
  [
    "repositories",
    "something that is not an address",
    GIT,
    { url: "https://" },
    { there: ["url", "url", "url", "url"], back: ["url", "url", "url", "url"] },
  ],
  ["repositories", "type", { ...GIT, type: "git" }, { ...GIT, type: "helm" }, { there: ["type"], back: ["type"] }],
  ["repositories", "type left out", GIT, { ...GIT, type: "git" }, { there: [], back: [] }],
  ["repositories", "insecure", GIT, { ...GIT, insecure: true }, { there: ["insecure"], back: [] }],
  ["repositories", "insecure false", GIT, { ...GIT, insecure: false }, { there: [], back: [] }],
  [
    "repositories",
    "insecureOciForceHttp",
    GIT,
    { ...GIT, insecureOciForceHttp: true },
    { there: ["insecureOciForceHttp"], back: [] },
  ],
  [
    "repositories",
    "forceHttpBasicAuth",
    GIT,
    { ...GIT, forceHttpBasicAuth: true },
    { there: ["forceHttpBasicAuth"], back: [] },
  ],
  ["repositories", "proxy", GIT, { ...GIT, proxy: "http://p:1" }, { there: ["proxy"], back: [] }],
  [
    "repositories",
    "another proxy",
    { ...GIT, proxy: "http://p:1" },
    { ...GIT, proxy: "http://p:2" },
    { there: ["proxy"], back: ["proxy"] },
  ],
  [
    "repositories",
    "a host less that avoids the proxy",
    { ...GIT, proxy: "http://p:1", noProxy: "a.corp, git.corp" },
    { ...GIT, proxy: "http://p:1", noProxy: "a.corp" },
    { there: ["noProxy"], back: [] },
  ],
  ["repositories", "noProxy without a proxy", GIT, { ...GIT, noProxy: "git.corp" }, { there: [], back: [] }],
  [
    "repositories",
    "host keys",
    { url: "git@git.corp:a", sshKnownHosts: "git.corp ssh-ed25519 A" },
    { url: "git@git.corp:a", sshKnownHosts: "git.corp ssh-ed25519 B" },
    { there: ["sshKnownHosts"], back: ["sshKnownHosts"] },
  ],
  ["repositories", "host keys of HTTPS", GIT, { ...GIT, sshKnownHosts: "x" }, { there: [], back: [] }],
  [
    "repositories",
    "host keys that were not checked",
    { url: "git@git.corp:a", insecure: true },
    { url: "git@git.corp:a", sshKnownHosts: "git.corp ssh-ed25519 B" },
    { there: [], back: ["insecure"] },
  ],
  ["repositories", "GitHub App", GIT, { ...GIT, ...App() }, { there: ["githubApp/enterpriseBaseUrl"], back: [] }],
  [
    "repositories",
    "host of the GitHub App",
    { ...GIT, ...App() },
    { ...GIT, ...App("https://evil.example/api/v3") },
    { there: ["githubApp/enterpriseBaseUrl"], back: ["githubApp/enterpriseBaseUrl"] },
  ],
  [
    "repositories",
    "scheme of the GitHub App",
    { ...GIT, ...App("https://ghe.corp/api/v3") },
    { ...GIT, ...App("http://ghe.corp/api/v3/") },
    { there: ["githubApp/enterpriseBaseUrl"], back: ["githubApp/enterpriseBaseUrl"] },
  ],
  [
    "repositories",
    "spelling of the GitHub App",
    { ...GIT, ...App() },
    { ...GIT, ...App("https://API.github.com:443/") },
    { there: [], back: [] },
  ],
  [
    "repositories",
    "sign-in of the service principal",
    { ...GIT, ...Azure() },
    { ...GIT, ...Azure("https://evil.example") },
    {
      there: ["azureServicePrincipal/activeDirectoryEndpoint"],
      back: ["azureServicePrincipal/activeDirectoryEndpoint"],
    },
  ],
  ["repositories", "user name", GIT, { ...GIT, username: "robot" }, { there: [], back: [] }],
  [
    "repositories",
    "depth, LFS and submodules",
    GIT,
    { ...GIT, depth: 1, enableLfs: true, submodules: true },
    { there: [], back: [] },
  ],

  [
    "repositorycredentials",
    "a longer prefix",
    TEMPLATE,
    { url: "https://git.corp/platform/team/" },
    { there: [], back: ["url"] },
  ],
  [
    "repositorycredentials",
    "a prefix beside",
    TEMPLATE,
    { url: "https://git.corp/plans/" },
    { there: ["url"], back: ["url"] },
  ],
  [
    "repositorycredentials",
    "no slash at the end",
    TEMPLATE,
    { url: "https://git.corp/platform" },
    { there: ["url"], back: [] },
  ],
  ["repositorycredentials", "the whole host", TEMPLATE, { url: "https://git.corp/" }, { there: ["url"], back: [] }],
  [
    "repositorycredentials",
    "the whole host without a slash",
    TEMPLATE,
    { url: "https://git.corp" },
    { there: ["url"], back: [] },
  ],
  [
    "repositorycredentials",
    "no host",
    TEMPLATE,
    { url: "https://" },
    { there: ["url", "url", "url", "url", "url"], back: ["url", "url", "url", "url", "url"] },
  ],
  [
    "repositorycredentials",
    "a way up",
    TEMPLATE,
    { url: "https://git.corp/platform/../" },
    { there: ["url"], back: [] },
  ],
  [
    "repositorycredentials",
    "a way up, encoded",
    TEMPLATE,
    { url: "https://git.corp/platform/%2e%2E/" },
    { there: ["url"], back: [] },
  ],
  [
    "repositorycredentials",
    "a way up by SSH",
    { url: "git@git.corp:team/" },
    { url: "git@git.corp:team/../" },
    { there: ["url"], back: [] },
  ],
  [
    "repositorycredentials",
    "`.git`, which counts for nothing",
    { url: "https://git.corp/a.git" },
    { url: "https://git.corp/a" },
    { there: [], back: [] },
  ],
  [
    "repositorycredentials",
    "host",
    TEMPLATE,
    { url: "https://git.corp.evil.example/platform/" },
    { there: ["url"], back: ["url"] },
  ],

  [
    "clusters",
    "host",
    CLUSTER,
    { ...CLUSTER, server: "https://evil.example:6443" },
    { there: ["server"], back: ["server"] },
  ],
  ["clusters", "port", CLUSTER, { ...CLUSTER, server: "https://k8s.corp" }, { there: ["server"], back: ["server"] }],
  ["clusters", "path", CLUSTER, { ...CLUSTER, server: "https://k8s.corp:6443/k8s/" }, { there: [], back: [] }],
  ["clusters", "spelling", CLUSTER, { ...CLUSTER, server: "https://K8S.corp:6443/" }, { there: [], back: [] }],
  [
    "clusters",
    "insecure",
    CLUSTER,
    { ...CLUSTER, caData: undefined, insecure: true },
    { there: ["insecure", "caData"], back: [] },
  ],
  ["clusters", "authority", CLUSTER, { ...CLUSTER, caData: "other" }, { there: ["caData"], back: ["caData"] }],
  [
    "clusters",
    "the public authorities",
    CLUSTER,
    { ...CLUSTER, caData: undefined },
    { there: ["caData"], back: ["caData"] },
  ],
  ["clusters", "line ends of the authority", CLUSTER, { ...CLUSTER, caData: "pem\r\n" }, { there: [], back: [] }],
  [
    "clusters",
    "name of the certificate",
    CLUSTER,
    { ...CLUSTER, serverName: "evil.example" },
    { there: ["serverName"], back: [] },
  ],
  ["clusters", "proxy", CLUSTER, { ...CLUSTER, proxyUrl: "http://p:1" }, { there: ["proxyUrl"], back: [] }],
  [
    "clusters",
    "a program that signs in",
    CLUSTER,
    { ...CLUSTER, exec: { command: "aws" } },
    { there: ["exec"], back: ["exec"] },
  ],
  [
    "clusters",
    "namespaces",
    CLUSTER,
    { ...CLUSTER, namespaces: ["a"], clusterResources: false },
    { there: [], back: [] },
  ],
];
describe("credentials are needed again", () => {
  test.each(TABLE)("%s: %s", (collection, _, first, second, want) => {
    expect({ there: moved(collection, first, second), back: moved(collection, second, first) }).toEqual(want);
  });
});

test("a part that this version does not know counts when it differs", () => {
  const now = audienceOf("clusters", CLUSTER);
  expect(beyond("clusters", { ...now, later: "x" }, now).map(({ message }) => message)).toEqual([
    "`later` changed from x to none",
  ]);
  expect(beyond("clusters", now, { ...now, constructor: "x" }).length).toBe(1);
});

test.each<[SealedCollection, Spec, Spec, string]>([
  ["repositories", GIT, { url: "https://evil.example/x" }, "the host changed from git.corp to evil.example"],
  ["repositories", GIT, { ...GIT, proxy: "http://p:1" }, "the proxy changed from none to http://p:1"],
  ["repositories", GIT, { ...GIT, insecure: true }, "`insecure` was turned on"],
  ["repositorycredentials", TEMPLATE, { url: "https://git.corp/" }, "the path changed from /platform/ to /"],
  ["clusters", CLUSTER, { ...CLUSTER, caData: "other" }, "`caData` changed"],
])("%s: a difference is told in plain words and without contents", (collection, before, now, want) => {
  expect(beyond(collection, audienceOf(collection, before), audienceOf(collection, now))[0]?.message).toBe(want);
});
