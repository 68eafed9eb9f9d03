import { done, stop } from "../../../base/outcome.ts";
import type { KubeObject } from "../../../kube/object.ts";
import type { Resource } from "../../../kube/path.ts";
import { ALLOWED_SCOPES, MANAGED, TENANT } from "../../project/tenant.ts";
import type { RepoAccess } from "../../repo/types.ts";
import { applicationSetGenerate } from "./generate.ts";

const TYPE = "argocd.argoproj.io/secret-type";
const PLATFORM = "https://git.example/platform/secrets";
const marked = (scope: string) => ({
  labels: { [MANAGED]: "true" },
  annotations: {
    [TENANT]: scope,
    "outpost.dev/uid": "u",
    "outpost.dev/id": "set",
    "outpost.dev/scope": `acme/${scope}`,
    "outpost.dev/generation": "1",
  },
});
const base64 = (fields: Record<string, string>) =>
  Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, Buffer.from(text).toString("base64")]));
const secret = (type: string, name: string, fields: Record<string, string>, tenant?: string) => ({
  kind: "Secret",
  metadata: { name, labels: { [TYPE]: type }, annotations: tenant ? { [TENANT]: tenant } : {} },
  data: base64(fields),
});

/** With which access the repository is read, for a set of tenant b; a text is why it is not. */
async function readBy(
  project: string,
  url: string,
  sourceRepos: string[],
  allowed = "b",
): Promise<RepoAccess | string> {
  const generators = [{ git: { repoURL: url, revision: "main", directories: [{ path: "*" }] } }];
  const template = { metadata: { name: "x" }, spec: { project, source: {}, destination: {} } };
  const set = {
    kind: "ApplicationSet",
    metadata: { name: "set-b0", ...marked("b/-") },
    spec: { goTemplate: true, generators, template },
  };
  const objects: Record<string, object[]> = {
    secrets: [
      secret("repo-creds", "repocreds-platform", { url: "https://git.example/platform/", password: "P" }),
      secret(
        "repository",
        "repo-mine-b0",
        { url: "https://git.example/b/mine", password: "B", submodules: "true" },
        "b/-",
      ),
    ],
    configmaps: [],
    appprojects: [
      {
        kind: "AppProject",
        metadata: { name: "team", labels: { [MANAGED]: "true" }, annotations: { [ALLOWED_SCOPES]: allowed } },
        spec: { sourceRepos },
      },
    ],
  };
  const client = {
    get: async () => done(set as unknown as KubeObject),
    list: async ({ plural }: Resource, { labelSelector = "" }: { labelSelector?: string }) => {
      const [key, value] = labelSelector.split("=");
      const all = (objects[plural] ?? []) as KubeObject[];
      return done({ items: key === TYPE ? all.filter(({ metadata }) => metadata.labels?.[TYPE] === value) : all });
    },
  };
  let found: RepoAccess | string = "nothing was read";
  const look = async ({ repo }: { repo: RepoAccess }) => {
    found = repo.refused?.reason ?? repo;
    return stop("Seen", "seen");
  };
  const tc = { ctx: { client, namespace: "outpost", account: "acme" }, repo: { look } };
  const params = { key: "b/-/set", uid: "u", name: "set-b0" };
  await applicationSetGenerate(tc as never, { task: "t", kind: "applicationset.generate", params } as never);
  return found;
}

test("a tenant's set reads only what its project permits, as its applications do", async () => {
  expect(await readBy("team", PLATFORM, ["https://git.example/b/*"])).toBe("SourceNotPermitted");
  expect(await readBy("team", PLATFORM, ["*"], "other")).toBe("ProjectNotAllowed");
  expect(await readBy("team", PLATFORM, ["https://git.example/**"])).toMatchObject({ url: PLATFORM, borrowed: true });
});

test("a project that parameters name lends nothing of the scopes above", async () => {
  expect(await readBy("{{ .path.basename }}", PLATFORM, ["*"])).toBe("SourceNotPermitted");
  const mine = await readBy("{{ .path.basename }}", "https://git.example/b/mine", ["*"]);
  expect(mine).toMatchObject({ url: "https://git.example/b/mine", submodules: true });
  expect((mine as RepoAccess).ways?.map(({ url }) => url)).toEqual(["https://git.example/b/mine"]);
});

test("submodules of what a set reads are lent what the project permits, and no more", async () => {
  const mine = await readBy("team", "https://git.example/b/mine", ["https://git.example/b/*"]);
  expect(mine).toMatchObject({ submodules: true, sourceRepos: ["https://git.example/b/*"] });
});
