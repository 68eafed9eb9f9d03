import type { HookCall } from "./hooks.ts";

const A = "1f0d3a5c7e9b2d4f6a8c0e1b3d5f7a9c1e3b5d70";
const B = "9c1e3b5d701f0d3a5c7e9b2d4f6a8c0e1b3d5f7a";
const githubPackage = {
  id: 10696678,
  name: "web",
  namespace: "octo",
  ecosystem: "CONTAINER",
  package_type: "CONTAINER",
  html_url: "https://github.com/users/octo/packages/10696678",
  owner: { login: "octo", id: 1 },
  package_version: {
    id: 14142526,
    version: `sha256:${"a".repeat(64)}`,
    container_metadata: { tag: { name: "1.4.0", digest: `sha256:${"a".repeat(64)}` } },
    package_url: "ghcr.io/octo/web:1.4.0",
  },
  registry: {
    about_url: "https://docs.github.com",
    name: "GitHub CONTAINER registry",
    type: "CONTAINER",
    url: "https://CONTAINER.pkg.github.com/octo",
    vendor: "GitHub Inc",
  },
};
const cloudRepository = {
  type: "repository",
  full_name: "team/shop",
  links: {
    self: { href: "https://api.bitbucket.org/2.0/repositories/team/shop" },
    html: { href: "https://bitbucket.org/team/shop" },
  },
  name: "shop",
  uuid: "{e0ba2d5c-6d3b-4a7e-8a3b-0c8d2f1e4b6a}",
};
const serverRepository = {
  slug: "shop",
  id: 656,
  name: "shop",
  scmId: "git",
  project: { key: "TEAM", id: 389, name: "Team", type: "NORMAL" },
  links: {
    clone: [
      { href: "ssh://git@bitbucket.example:7999/team/shop.git", name: "ssh" },
      { href: "https://bitbucket.example/scm/team/shop.git", name: "http" },
    ],
    self: [{ href: "https://bitbucket.example/projects/TEAM/repos/shop/browse" }],
  },
};
const azureRepository = {
  id: "ba2967cc-02c2-414c-8d10-1b99197cbaa6",
  name: "shop",
  url: "https://dev.azure.com/org/_apis/git/repositories/ba2967cc-02c2-414c-8d10-1b99197cbaa6",
  project: { id: "57b6cf1e-0b1e-4b5e-8b6a-5b1b8a2eff8f", name: "team", state: "wellFormed" },
  defaultBranch: "refs/heads/main",
  remoteUrl: "https://org@dev.azure.com/org/team/_git/shop",
  sshUrl: "git@ssh.dev.azure.com:v3/org/team/shop",
};

/** Calls of Bitbucket, Azure DevOps and registries, in the shapes of their documentation. */
export const OTHER_CALLS: HookCall[] = [
  {
    provider: "bitbucket",
    name: "a push",
    headers: { "x-event-key": "repo:push" },
    payload: {
      actor: {},
      repository: cloudRepository,
      push: {
        changes: [
          {
            old: { type: "branch", name: "main", target: { hash: B } },
            new: { type: "branch", name: "main", target: { type: "commit", hash: A } },
            created: false,
            forced: false,
            closed: false,
            commits: [],
          },
        ],
      },
    },
    want: {
      addresses: ["https://bitbucket.org/team/shop", "git@bitbucket.org:team/shop.git"],
      refs: ["main"],
      revision: A,
    },
  },
  {
    provider: "bitbucket",
    name: "a deleted branch",
    headers: { "x-event-key": "repo:push" },
    payload: {
      repository: cloudRepository,
      push: { changes: [{ old: { type: "branch", name: "old", target: { hash: B } }, new: null, closed: true }] },
    },
    want: { addresses: ["https://bitbucket.org/team/shop"], refs: ["old"] },
  },
  {
    provider: "bitbucket",
    name: "a pull request",
    headers: { "x-event-key": "pullrequest:created" },
    payload: {
      repository: cloudRepository,
      actor: { nickname: "octo" },
      pullrequest: {
        id: 1,
        title: "Change",
        state: "OPEN",
        source: {
          branch: { name: "topic" },
          // Only twelve characters of it are shown.
          commit: { hash: A.slice(0, 12), type: "commit" },
          repository: {
            type: "repository",
            full_name: "fork/shop",
            links: { html: { href: "https://bitbucket.org/fork/shop" } },
          },
        },
        destination: { branch: { name: "main" }, commit: { hash: B.slice(0, 12) }, repository: cloudRepository },
      },
    },
    want: { addresses: ["https://bitbucket.org/team/shop", "https://bitbucket.org/fork/shop"], refs: ["topic"] },
  },
  {
    provider: "bitbucket",
    name: "a new fork",
    headers: { "x-event-key": "repo:fork" },
    payload: { repository: cloudRepository },
    want: "Ignored",
  },
  {
    provider: "bitbucketServer",
    name: "a push",
    headers: { "x-event-key": "repo:refs_changed" },
    payload: {
      eventKey: "repo:refs_changed",
      date: "2026-01-01T00:00:00+0000",
      repository: serverRepository,
      changes: [
        {
          ref: { id: "refs/heads/main", displayId: "main", type: "BRANCH" },
          refId: "refs/heads/main",
          fromHash: B,
          toHash: A,
          type: "UPDATE",
        },
      ],
    },
    want: {
      addresses: ["https://bitbucket.example/scm/team/shop.git", "ssh://git@bitbucket.example:7999/team/shop.git"],
      refs: ["refs/heads/main"],
      revision: A,
    },
  },
  {
    provider: "bitbucketServer",
    name: "a push of a version that names no clone addresses",
    headers: { "x-event-key": "repo:refs_changed" },
    payload: { repository: { ...serverRepository, links: { self: serverRepository.links.self } }, changes: [] },
    want: { addresses: ["https://bitbucket.example/scm/TEAM/shop.git"] },
  },
  {
    provider: "bitbucketServer",
    name: "a pull request",
    headers: { "x-event-key": "pr:from_ref_updated" },
    payload: {
      pullRequest: {
        id: 1,
        fromRef: { id: "refs/heads/topic", latestCommit: A, repository: serverRepository },
        toRef: { id: "refs/heads/main", repository: serverRepository },
      },
    },
    want: { addresses: ["https://bitbucket.example/scm/team/shop"], refs: ["refs/heads/topic"], revision: A },
  },
  {
    provider: "bitbucketServer",
    name: "a test of the connection",
    headers: { "x-event-key": "diagnostics:ping" },
    payload: { test: true },
    want: "Ignored",
  },
  {
    provider: "azureDevOps",
    name: "a push",
    headers: {},
    payload: {
      subscriptionId: "8fd412f1-9873-4b45-8854-655b1b8a2eff",
      eventType: "git.push",
      publisherId: "tfs",
      resource: {
        commits: [],
        refUpdates: [{ name: "refs/heads/main", oldObjectId: B, newObjectId: A }],
        repository: azureRepository,
        pushId: 14,
      },
      resourceVersion: "1.0",
    },
    want: {
      addresses: ["https://dev.azure.com/org/team/_git/shop", "git@ssh.dev.azure.com:v3/org/team/shop"],
      refs: ["refs/heads/main"],
      revision: A,
    },
  },
  {
    provider: "azureDevOps",
    name: "a pull request",
    headers: {},
    payload: {
      eventType: "git.pullrequest.updated",
      resource: {
        repository: azureRepository,
        sourceRefName: "refs/heads/topic",
        lastMergeSourceCommit: { commitId: A },
      },
    },
    want: { addresses: ["https://dev.azure.com/org/team/_git/shop"], refs: ["refs/heads/topic"], revision: A },
  },
  {
    provider: "azureDevOps",
    name: "a build",
    headers: {},
    payload: { eventType: "build.complete", resource: {} },
    want: "Ignored",
  },
  {
    provider: "dockerHub",
    name: "a push of an image",
    headers: {},
    payload: {
      callback_url: "https://registry.hub.docker.com/u/team/web/hook/2141b5bi5i5b02bec211i4eeih0242eg11000a/",
      push_data: { pushed_at: 1417566161, pusher: "team", tag: "1.4.0" },
      repository: {
        is_private: true,
        name: "web",
        namespace: "team",
        owner: "team",
        repo_name: "team/web",
        repo_url: "https://hub.docker.com/r/team/web",
        status: "Active",
      },
    },
    want: { addresses: ["oci://registry-1.docker.io/team/web", "docker.io/team/web"], refs: ["1.4.0"] },
  },
  {
    provider: "dockerHub",
    name: "a call without a name",
    headers: {},
    payload: { push_data: {} },
    want: "PayloadInvalid",
  },
  {
    provider: "ghcr",
    name: "a version in the event of today",
    headers: { "x-github-event": "registry_package" },
    payload: {
      action: "published",
      registry_package: githubPackage,
      repository: { full_name: "octo/shop", owner: { login: "octo" } },
    },
    want: { addresses: ["oci://ghcr.io/octo/web"], refs: ["1.4.0"] },
  },
  {
    provider: "ghcr",
    name: "a version in the older event, without a tag",
    headers: { "x-github-event": "package" },
    payload: {
      action: "published",
      package: {
        name: "web",
        namespace: "octo",
        package_type: "CONTAINER",
        owner: { login: "octo" },
        package_version: { container_metadata: { tag: { name: "", digest: "" } }, package_url: "ghcr.io/octo/web:" },
      },
    },
    want: { addresses: ["ghcr.io/octo/web"] },
  },
  {
    provider: "ghcr",
    name: "a package of npm",
    headers: { "x-github-event": "package" },
    payload: { package: { ...githubPackage, package_type: "npm" } },
    want: "Ignored",
  },
  {
    provider: "ghcr",
    name: "a push of the repository",
    headers: { "x-github-event": "push" },
    payload: { repository: { full_name: "octo/shop", owner: { login: "octo" } } },
    want: "Ignored",
  },
  {
    provider: "harbor",
    name: "a push of an artifact",
    headers: {},
    payload: {
      type: "PUSH_ARTIFACT",
      occur_at: 1586922308,
      operator: "admin",
      event_data: {
        resources: [
          { digest: `sha256:${"b".repeat(64)}`, tag: "latest", resource_url: "hub.example:8443/team/web:latest" },
        ],
        repository: {
          date_created: 1586922308,
          name: "web",
          namespace: "team",
          repo_full_name: "team/web",
          repo_type: "private",
        },
      },
    },
    want: { addresses: ["oci://hub.example:8443/team/web"], refs: ["latest"] },
  },
  {
    provider: "harbor",
    name: "a CloudEvent",
    headers: { "content-type": "application/cloudevents+json" },
    payload: {
      specversion: "1.0",
      id: "x",
      source: "/projects/1",
      type: "harbor.artifact.pushed",
      datacontenttype: "application/json",
      data: {
        resources: [
          {
            digest: `sha256:${"b".repeat(64)}`,
            tag: "v2",
            resource_url: `hub.example/team/charts/web@sha256:${"b".repeat(64)}`,
          },
        ],
      },
    },
    want: { addresses: ["oci://hub.example/team/charts/web"], refs: ["v2"] },
  },
  {
    provider: "harbor",
    name: "a scan",
    headers: {},
    payload: { type: "SCANNING_COMPLETED", event_data: {} },
    want: "Ignored",
  },
  {
    provider: "generic",
    name: "repositories by their addresses",
    headers: {},
    payload: {
      repositories: ["https://git.example/a/b.git", "oci://registry.example/c/d"],
      ref: "refs/heads/main",
      revision: A,
    },
    want: { addresses: ["git@git.example:a/b", "oci://registry.example/c/d"], refs: ["refs/heads/main"], revision: A },
  },
  {
    provider: "generic",
    name: "one image",
    headers: {},
    payload: { image: "quay.io/team/web:1.2" },
    want: { addresses: ["oci://quay.io/team/web"] },
  },
  {
    provider: "generic",
    name: "a registry's own notification",
    headers: { "content-type": "application/vnd.docker.distribution.events.v1+json" },
    payload: {
      events: [
        {
          id: "x",
          action: "push",
          target: {
            mediaType: "application/vnd.oci.image.manifest.v1+json",
            repository: "team/web",
            url: "http://registry:5000/v2/team/web/manifests/sha256:x",
            tag: "1",
          },
          request: { host: "registry.example:5000" },
        },
      ],
    },
    want: { addresses: ["oci://registry.example:5000/team/web"], refs: ["1"] },
  },
  {
    provider: "generic",
    name: "a pull from a registry",
    headers: {},
    payload: { events: [{ action: "pull", target: { repository: "team/web" } }] },
    want: "Ignored",
  },
  { provider: "generic", name: "nothing", headers: {}, payload: {}, want: "PayloadInvalid" },
];
