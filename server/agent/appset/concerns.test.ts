import { concerns } from "./concerns.ts";
import type { ApplicationSetSpec } from "./types.ts";

const set = (...generators: object[]) => ({ generators, template: { metadata: {}, spec: {} } }) as unknown as ApplicationSetSpec;

test.each([
  ["a generator's repository", set({ git: { repoURL: "git@github.com:acme/shop.git" } }), true],
  ["one within a matrix", set({ matrix: { generators: [{ list: {} }, { git: { repoURL: "https://github.com/Acme/Shop" } }] } }), true],
  ["another repository", set({ git: { repoURL: "https://github.com/acme/other" } }), false],
  ["pull requests of it", set({ pullRequest: { github: { owner: "acme", repo: "shop" }, requeueAfterSeconds: 600 } }), true],
  ["pull requests of another", set({ pullRequest: { gitea: { owner: "acme", repo: "other", api: "https://h" } } }), false],
  ["a project of GitLab by its path", set({ pullRequest: { gitlab: { project: "acme/shop" } } }), true],
  ["a project of GitLab by its number", set({ pullRequest: { gitlab: { project: "278964" } } }), true],
  ["all of its organisation", set({ scmProvider: { github: { organization: "Acme" } } }), true],
  ["all of another organisation", set({ scmProvider: { gitea: { owner: "acm" } } }), false],
  ["nothing of the kind", set({ list: { elements: [{ repo: "shop" }] } }, { pullRequest: null }, { scmProvider: { github: null } }), false],
])("%s", (_, spec, want) => expect(concerns(spec, "https://github.com/acme/shop.git")).toBe(want));
