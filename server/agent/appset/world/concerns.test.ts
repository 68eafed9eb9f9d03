import { providers } from "../../../control/api/webhooks/providers/table.ts";
import { HOOK_CALLS } from "../../../control/testing/hooks.ts";
import type { ApplicationSetSpec } from "../types.ts";
import { asksPlugin, concerns } from "./concerns.ts";

const set = (...generators: object[]) =>
  ({ generators, template: { metadata: {}, spec: {} } }) as unknown as ApplicationSetSpec;

test.each([
  ["a generator's repository", set({ git: { repoURL: "git@github.com:acme/shop.git" } }), true],
  [
    "one within a matrix",
    set({ matrix: { generators: [{ list: {} }, { git: { repoURL: "https://github.com/Acme/Shop" } }] } }),
    true,
  ],
  ["another repository", set({ git: { repoURL: "https://github.com/acme/other" } }), false],
  [
    "pull requests of it",
    set({ pullRequest: { github: { owner: "acme", repo: "shop" }, requeueAfterSeconds: 600 } }),
    true,
  ],
  [
    "pull requests of another",
    set({ pullRequest: { gitea: { owner: "acme", repo: "other", api: "https://h" } } }),
    false,
  ],
  ["a project of GitLab by its path", set({ pullRequest: { gitlab: { project: "acme/shop" } } }), true],
  ["a project of GitLab by its number", set({ pullRequest: { gitlab: { project: "278964" } } }), true],
  ["all of its organisation", set({ scmProvider: { github: { organization: "Acme" } } }), true],
  ["all of another organisation", set({ scmProvider: { gitea: { owner: "acm" } } }), false],
  [
    "all of a project of Bitbucket Server",
    set({ scmProvider: { bitbucketServer: { project: "ACME", api: "https://h" } } }),
    true,
  ],
  ["a repository of Bitbucket", set({ pullRequest: { bitbucket: { owner: "acme", repo: "shop" } } }), true],
  ["another of Bitbucket Server", set({ pullRequest: { bitbucketServer: { project: "ACME", repo: "other" } } }), false],
  [
    "what another generator names",
    set({ matrix: { generators: [{ list: {} }, { git: { repoURL: "{{ .url }}" } }] } }),
    true,
  ],
  [
    "what another generator asks about",
    set({ pullRequest: { github: { owner: "acme", repo: "{{ .repository }}" } } }),
    true,
  ],
  ["CodeCommit's repositories", set({ scmProvider: { awsCodeCommit: { region: "eu-central-1" } } }), false],
  [
    "nothing of the kind",
    set({ list: { elements: [{ repo: "shop" }] } }, { pullRequest: null }, { scmProvider: { github: null } }),
    false,
  ],
])("%s", (_, spec, want) => expect(concerns(spec, "https://github.com/acme/shop.git")).toBe(want));

const PLUGIN = { plugin: { configMapRef: { name: "p" } } };
test.each([
  ["by itself", set({ list: {} }, PLUGIN), true],
  ["within a matrix", set({ matrix: { generators: [{ list: {} }, PLUGIN] } }), true],
  [
    "within a merge within a matrix",
    set({ matrix: { generators: [{ merge: { generators: [PLUGIN] } }, { list: {} }] } }),
    true,
  ],
  [
    "as the plugin of a source alone",
    set({ list: {}, template: { spec: { source: { plugin: { name: "p" } } } } }),
    false,
  ],
  ["not at all", set({ list: {} }, { plugin: null }, { matrix: null }), false],
])("a plugin is asked %s", (_, { generators }, want) => expect(asksPlugin(generators)).toBe(want));

test("what only the template of a set names is not read by the set", () => {
  const template = { metadata: {}, spec: { source: { repoURL: "{{ .url }}" } } };
  const spec = { generators: [{ list: {}, template }], template } as unknown as ApplicationSetSpec;
  expect(concerns(spec, "https://github.com/acme/shop.git")).toBe(false);
});

test.each([
  ["https://dev.azure.com/org/My%20Team/_git/My%20Shop", "org", true],
  ["https://org.visualstudio.com/DefaultCollection/My%20Team/_git/my%20shop", "org", true],
  ["git@ssh.dev.azure.com:v3/org/My%20Team/My%20Shop", "org", true],
  ["https://tfs.example/tfs/Collection/My%20Team/_git/My%20Shop", "Collection", true],
  ["https://dev.azure.com/other/My%20Team/_git/My%20Shop", "org", false],
  ["https://dev.azure.com/org/My%20Team/_git/Other", "org", false],
])("%s is one of Azure DevOps that a set asks about: %s %s", (url, organization, want) => {
  const pullRequest = { azuredevops: { organization, project: "My Team", repo: "My Shop" } };
  expect(concerns(set({ pullRequest }), url)).toBe(want);
  const scmProvider = { azureDevOps: { organization, teamProject: "My Team" } };
  expect(concerns(set({ scmProvider }), url)).toBe(
    url.includes(`/${organization}`) || url.includes(`//${organization}.`),
  );
});

const HOSTS = ["bitbucket", "bitbucketServer", "azureDevOps"] as const;
const TOLD = HOOK_CALLS.filter(
  ({ provider, want }) => HOSTS.some((one) => one === provider) && typeof want !== "string",
);
const ASKED = {
  bitbucket: [{ owner: "team", repo: "shop" }, { owner: "team" }],
  bitbucketServer: [{ project: "TEAM", repo: "shop" }, { project: "TEAM" }],
  azureDevOps: [
    { organization: "org", project: "team", repo: "shop" },
    { organization: "org", teamProject: "team" },
  ],
} as const;

test.each(TOLD.map((call) => [`${call.provider}: ${call.name}`, call] as const))(
  "a call of %s is news for the sets that ask",
  (_, call) => {
    const host = call.provider as (typeof HOSTS)[number];
    const read = providers[host].read({ headers: call.headers, payload: call.payload });
    if (typeof read === "string") throw new Error(read);
    const [pulls, all] = ASKED[host];
    const field = host === "azureDevOps" ? "azuredevops" : host;
    const told = (generator: object) => read.urls.some((url) => concerns(set(generator), url));
    expect(told({ pullRequest: { [field]: pulls } })).toBe(true);
    expect(told({ pullRequest: { [field]: { ...pulls, repo: "other" } } })).toBe(false);
    expect(told({ scmProvider: { [host]: all } })).toBe(true);
  },
);
