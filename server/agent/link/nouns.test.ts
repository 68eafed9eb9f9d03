import type { Schemas } from "../../../openapi/client.ts";
import {
  ADA,
  ADA_FINGERPRINT,
  ADA_ID,
  CERTIFICATE,
  CERTIFICATE_FINGERPRINT,
  EVE,
  SSH_FINGERPRINT,
  SSH_KEY,
} from "../../base/testing.ts";
import type { KubeObject } from "../../kube/object.ts";
import { foundIn, statusOf } from "./delivered-objects.ts";
import { toProjectSpec } from "./deliveries/project.ts";
import { toSetSpec } from "./deliveries/set.ts";
import { certificateStatus, gnupgKeyStatus, hostKeyStatus, TRUST } from "./deliveries/trust.ts";
import { ENTRIES, entriesIn } from "./entries.ts";
import { madeBy, toSetStatus } from "./reports/set-status.ts";

const marks = {
  labels: { "outpost.dev/managed": "true" },
  annotations: {
    "outpost.dev/uid": "u",
    "outpost.dev/generation": "4",
    "outpost.dev/scope": "acme/o/-",
    "outpost.dev/id": "x",
  },
};
const object = (more: {
  kind?: string;
  status?: object | undefined;
  metadata?: Partial<KubeObject["metadata"]>;
}): KubeObject => ({
  apiVersion: "argoproj.io/v1alpha1",
  kind: "ApplicationSet",
  ...more,
  metadata: { name: "x", ...marks, ...more.metadata },
});

test("a project is written as Argo CD writes it: the core group is an empty text, an empty list of kinds stays one", () => {
  const spec: Schemas["AppProjectSpec"] = {
    agent: "one",
    labels: { a: "b" },
    sourceRepos: ["*"],
    clusterResourceWhitelist: [{ kind: "Namespace", name: "team-*" }],
    namespaceResourceWhitelist: [],
    signatureKeys: [{ keyID: ADA_ID }],
  };
  expect(toProjectSpec(spec)).toEqual({
    sourceRepos: ["*"],
    clusterResourceWhitelist: [{ group: "", kind: "Namespace", name: "team-*" }],
    namespaceResourceWhitelist: [],
    signatureKeys: [{ keyID: ADA_ID }],
  });
});

test("a set is written as Argo CD writes it: a number of a step is a number, a share a text", () => {
  const spec: Schemas["ApplicationSetSpec"] = {
    agent: "one",
    goTemplate: true,
    labels: { a: "b" },
    generators: [{ list: { elements: [] } }],
    template: { metadata: { name: "a" }, spec: {} },
    strategy: { type: "RollingSync", rollingSync: { steps: [{ maxUpdate: "2" }, { maxUpdate: "25%" }, {}] } },
  };
  expect(toSetSpec(spec)).toEqual({
    goTemplate: true,
    generators: spec.generators,
    template: spec.template,
    strategy: { type: "RollingSync", rollingSync: { steps: [{ maxUpdate: 2 }, { maxUpdate: "25%" }, {}] } },
  });
});

describe("the status of a set", () => {
  const app = (name: string, status: object = {}, owner = "x"): KubeObject => ({
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Application",
    metadata: {
      name,
      ownerReferences: [
        { apiVersion: "argoproj.io/v1alpha1", kind: "ApplicationSet", name: owner, uid: "s", controller: true },
      ],
    },
    status,
  });
  const conditions = [
    {
      type: "ErrorOccurred",
      status: "False",
      reason: "Fine",
      message: "well",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    },
  ];

  test("is its controller's word, with its applications as they are", () => {
    const set = object({
      status: {
        observedGeneration: 4,
        health: { status: "Progressing", message: "step 1", lastTransitionTime: "2026-01-01T00:00:00Z" },
        conditions,
        applicationStatus: [
          { application: "a", status: "Healthy", step: "1", message: "done", targetRevisions: ["c"] },
          { application: "b", status: "Waiting", step: "-1", message: "", targetRevisions: [] },
        ],
      },
    });
    const made = [
      app("b"),
      app("a", { sync: { status: "Synced", revision: "c" }, health: { status: "Healthy" } }),
      app("c", { sync: { status: "OutOfSync", revisions: ["d", "e"] }, health: { status: "Strange" } }),
    ].map((one) => madeBy(one)!);
    expect(toSetStatus(set, made)).toEqual({
      observedGeneration: 4,
      health: { status: "Progressing", message: "step 1" },
      conditions,
      applications: [
        { name: "a", sync: "Synced", health: "Healthy", revision: "c", step: "1", state: "Healthy", message: "done" },
        { name: "b", state: "Waiting" },
        { name: "c", sync: "OutOfSync", revision: "d" },
      ],
    });
    expect(madeBy({ ...app("a"), metadata: { name: "a" } })).toBeUndefined();
  });

  test("with more applications than a report holds says so", () => {
    const many = Array.from({ length: 1_200 }, (_, i) => madeBy(app(`a${i}`, { sync: { status: "Synced" } }))!);
    const { applications, conditions: said } = toSetStatus(object({ status: { conditions } }), many);
    expect([applications?.length, said?.at(-1)?.reason]).toEqual([1_000, "ReportTooLarge"]);
  });

  test.each<[string, object | undefined, number | undefined]>([
    ["nothing is said yet", undefined, undefined],
    ["an older delivery is spoken of", { observedGeneration: 3, conditions }, undefined],
    ["Argo CD says something, which does not tell of what", { conditions }, 4],
  ])("speaks of a generation when it can be known: %s", (_, status, want) => {
    expect(toSetStatus(object({ status }), []).observedGeneration).toBe(want);
  });
});

describe("parts of a ConfigMap", () => {
  const entry = { uid: "u", generation: 4, scope: "acme/o/-", id: "x" };
  const map = (name: string, data: object, entries: unknown): KubeObject => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, annotations: { [ENTRIES]: typeof entries === "string" ? entries : JSON.stringify(entries) } },
    data,
  });
  const held = { key: "o/-/x", uid: "u", generation: 4 };

  test("are ours by the annotation, and only while they are there", () => {
    const certificates = map(
      TRUST.certificates.name,
      { "a.example": "x", "b.example": "y" },
      { "a.example": entry, "gone.example": entry },
    );
    expect([...entriesIn(TRUST.certificates, certificates, "acme")]).toEqual([["a.example", held]]);
    expect(entriesIn(TRUST.certificates, certificates, "other").size).toBe(0);
    for (const broken of ["{", "[]", "null", '{"a.example":1}', '{"a.example":{"uid":"u"}}'])
      expect(
        entriesIn(TRUST.certificates, map(TRUST.certificates.name, { "a.example": "x" }, broken), "acme").size,
      ).toBe(0);
  });

  test("are told of with what they say of themselves", () => {
    const told = (name: string, data: object, at: string) =>
      foundIn("ConfigMap", map(name, data, { [at]: entry }), "acme").map((found) => [
        found.collection,
        found.at,
        statusOf(found, () => []),
      ]);
    expect(told(TRUST.certificates.name, { h: CERTIFICATE }, "h")).toEqual([
      [
        "repositorycertificates",
        `ConfigMap/${TRUST.certificates.name}/h`,
        { fingerprints: [CERTIFICATE_FINGERPRINT], expiresAt: "2036-11-19T02:03:56.000Z" },
      ],
    ]);
    const [type, base64] = SSH_KEY.split(" ");
    const hosts = {
      ssh_known_hosts: `github.com ${SSH_KEY}\n# outpost.dev/repository u\nh ${type} ${base64}\n# outpost.dev/end\n`,
    };
    expect(told(TRUST.hosts.name, hosts, "h")).toEqual([
      ["repositorycertificates", `ConfigMap/${TRUST.hosts.name}/h`, { fingerprints: [SSH_FINGERPRINT] }],
    ]);
    expect(told(TRUST.keys.name, { [ADA_ID]: ADA }, ADA_ID)).toEqual([
      [
        "gnupgkeys",
        `ConfigMap/${TRUST.keys.name}/${ADA_ID}`,
        {
          keyId: ADA_ID,
          fingerprint: ADA_FINGERPRINT,
          owner: "Ada Example <ada@example.com>",
          algorithm: "Ed25519",
          expiresAt: "2030-01-02T12:00:00.000Z",
          revoked: false,
        },
      ],
    ]);
    expect(foundIn("ConfigMap", map("argocd-cm", { h: "x" }, { h: entry }), "acme")).toEqual([]);
  });

  test("that were changed by hand into nonsense are told of without it", () => {
    expect(certificateStatus({ h: "x" }, "h")).toEqual({ fingerprints: [] });
    expect(hostKeyStatus({}, "u")).toEqual({ fingerprints: [] });
    expect(gnupgKeyStatus({ K: "x" }, "K")).toEqual({});
    expect(gnupgKeyStatus({ K: EVE }, "K")).toMatchObject({ revoked: true });
  });
});

test("objects of a list are known by the kind that was listed", () => {
  const secret = (type: string) =>
    object({ kind: "", metadata: { labels: { ...marks.labels, "argocd.argoproj.io/secret-type": type } } });
  const collections = (kind: string, one: KubeObject) => foundIn(kind, one, "acme").map(({ collection }) => collection);
  expect(collections("Secret", secret("repo-creds"))).toEqual(["repositorycredentials"]);
  expect(collections("Secret", secret("repository"))).toEqual(["repositories"]);
  expect(collections("Secret", secret("scm-creds"))).toEqual([]);
  expect(collections("Application", object({ kind: "" }))).toEqual(["applications"]);
  // One that a set made and that carries our marks all the same.
  const ownerReferences = [
    { apiVersion: "argoproj.io/v1alpha1", kind: "ApplicationSet", name: "x", uid: "s", controller: true },
  ];
  expect(collections("Application", object({ kind: "", metadata: { ownerReferences } }))).toEqual([]);
  expect(collections("AppProject", object({ kind: "" }))).toEqual(["appprojects"]);
  expect(collections("ApplicationSet", object({ kind: "", metadata: { labels: {} } }))).toEqual([]);
});
