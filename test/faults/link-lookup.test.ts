import type { Schemas } from "../../openapi/client.ts";
import type { KubeObject } from "../../server/kube/object.ts";
import { RESOURCES } from "../../server/kube/path.ts";
import { type GitServer, startGit } from "../servers/git.ts";
import { type Daemon, until } from "../servers/run.ts";
import { asInstalled, grant, type LinkWorld, linkWorld, must, ok } from "./link-world.ts";

// Charts that look things up, as people see them through the service: rendered in the controller, which reads as the application's account.
const OPEN = "opened-by-the-chart";
const HIDDEN = "correct-horse-battery-staple";
let w: LinkWorld;
let git: GitServer;
let controller: Daemon;

beforeAll(async () => {
  [w, git] = await Promise.all([linkWorld(["agent"]), startGit()]);
  controller = await asInstalled(w);
  for (const name of ["shop", "vault"]) {
    must(await w.kube.create(RESOURCES.namespace, { apiVersion: "v1", kind: "Namespace", metadata: { name } }));
    await secret(name, "hidden", HIDDEN);
  }
  await secret("shop", "open", OPEN);
  const account = { kind: "ServiceAccount", name: "reader", namespace: "shop" };
  await grant(w.kube, "shop", "reader", account, [
    { apiGroups: [""], resources: ["secrets"], resourceNames: ["open"], verbs: ["get"] },
  ]);
  await grant(w.kube, undefined, "reader", account, [{ apiGroups: [""], resources: ["namespaces"], verbs: ["list"] }]);
}, 300_000);
afterAll(async () => {
  await controller?.stop();
  await git?.stop();
  await w?.stop();
}, 60_000);

const secret = async (namespace: string, name: string, k: string) =>
  must(
    await w.kube.create(RESOURCES.secret, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace },
      stringData: { k },
    }),
  );
const find = (name: string, namespace = "shop") =>
  `{{ dig "data" "k" "nothing" (lookup "v1" "Secret" "${namespace}" "${name}") }}`;
const chart = (found: string, more = "") => ({
  "Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n",
  "templates/all.yaml": [
    `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: found }\ndata:\n  spaces: '{{ len (lookup "v1" "Namespace" "" "").items }}'\n  found: ${found}\n${more}`,
    `apiVersion: v1\nkind: Secret\nmetadata: { name: copy }\ndata: { k: ${found} }\n`,
  ].join("---\n"),
});

async function put(
  id: string,
  body: ReturnType<typeof chart>,
  more: Partial<Schemas["ApplicationSpec"]> = {},
): Promise<void> {
  await git.createRepository(id, { files: body });
  const spec = {
    agent: "one",
    argoProject: "default",
    revisionHistoryLimit: 10,
    source: { repoUrl: git.cloneUrl(id), path: ".", targetRevision: "main" },
    destination: { namespace: "shop" },
    helmLookup: { serviceAccount: "reader" },
    ...more,
  };
  ok(await w.service.api.PUT("/v1/applications/{id}", { params: { path: { id } }, body: { spec } }));
  await until(
    "the application is there",
    async () => (await w.application(id))?.status.delivery?.state === "Delivered",
    60_000,
  );
}
const diff = (id: string) => w.service.api.GET("/v1/applications/{id}/diff", { params: { path: { id } } });
const manifests = (id: string, revision?: string) =>
  w.service.api.GET("/v1/applications/{id}/manifests", {
    params: { path: { id }, query: revision ? { revision } : {} },
  });
const leaks = (answer: unknown) => {
  const text = JSON.stringify(answer);
  return [OPEN, HIDDEN]
    .flatMap((one) => [one, Buffer.from(one).toString("base64")])
    .filter((one) => text.includes(one));
};

test("manifests and differences of charts that read the cluster are shown, and what Secrets say nowhere in them", async () => {
  const quoted = `"${find("open")}"`;
  await put("seeing", chart(quoted, `  plain: "{{ ${find("open").slice(3, -3)} | b64dec }}"\n`));
  const made = ok(await manifests("seeing"));
  const map = made.manifests.find(({ kind }) => kind === "ConfigMap") as KubeObject;
  expect(Number(map.data.spaces)).toBeGreaterThan(3);
  expect([map.data.found, map.data.plain]).toEqual(["[secret]", "[secret]"]);
  expect(made.manifests.find(({ kind }) => kind === "Secret")).toMatchObject({
    data: { k: expect.stringMatching(/^sha256:/) },
  });
  const before = ok(await diff("seeing"));
  expect(before.items.map(({ kind, change }) => [kind, change]).sort()).toEqual([
    ["ConfigMap", "create"],
    ["Secret", "create"],
  ]);
  ok(await w.service.api.POST("/v1/applications/{id}/sync", { params: { path: { id: "seeing" } }, body: {} }));
  await until("Synced", async () => (await w.application("seeing"))?.status.sync?.status === "Synced", 60_000);
  expect(ok(await diff("seeing")).items).toEqual([]);
  must(await w.kube.mergePatch(RESOURCES.configMap, "shop", "found", { data: { found: "by hand" } }));
  const after = await until("the difference", async () => {
    const { items } = ok(await diff("seeing"));
    return items.length > 0 && items;
  });
  expect(after).toMatchObject([{ kind: "ConfigMap", change: "update", live: expect.stringContaining("by hand") }]);
  expect(leaks([made, before, after])).toEqual([]);
}, 240_000);

const refusals: [string, string, string, RegExp][] = [
  [
    "another Secret of its namespace",
    find("hidden"),
    "reader",
    /"system:serviceaccount:shop:reader" cannot get resource "secrets"/,
  ],
  [
    "a Secret of another namespace",
    find("hidden", "vault"),
    "reader",
    /cannot get resource "secrets" .* in the namespace "vault"/,
  ],
  [
    "all Secrets",
    '{{ lookup "v1" "Secret" "" "" | toJson | quote }}',
    "reader",
    /cannot list resource "secrets" .* at the cluster scope/,
  ],
  ["as an account without rights", find("open"), "nobody", /"system:serviceaccount:shop:nobody" cannot/],
];
test.each(refusals)(
  "a chart shows nothing of what its account may not read, though the controller may: %s",
  async (what, found, serviceAccount, want) => {
    const id = `no-${what.toLowerCase().replace(/[^a-z]+/g, "-")}`.slice(0, 40);
    await put(id, chart(found), { helmLookup: { serviceAccount } });
    for (const { error } of [await manifests(id), await diff(id)]) {
      expect(error).toMatchObject({ code: "agent_refused", detail: expect.stringMatching(want) });
      expect(leaks(error)).toEqual([]);
    }
  },
  120_000,
);

test("a revision that somebody may push but not merge is not shown: it could read what the account may", async () => {
  await put("pushed", chart('"none"'));
  const evil = await git.commit("pushed", chart(`"${find("open")}"`), "greedy", "greedy");
  for (const revision of ["greedy", evil]) {
    const { error } = await manifests("pushed", revision);
    expect(error).toMatchObject({ code: "agent_refused", detail: expect.stringContaining(`not ${revision}`) });
    expect(leaks(error)).toEqual([]);
  }
  const { revision } = ok(await manifests("pushed", "main"));
  const followed = await until(
    "the comparison",
    async () => (await w.application("pushed"))?.status.sync?.revision,
    60_000,
  );
  expect([followed, ok(await manifests("pushed", followed)).revision]).toEqual([revision, revision]);
}, 120_000);

test("without the opt-in a chart sees nothing of the cluster, here as in a sync", async () => {
  const blind = {
    "Chart.yaml": chart("")["Chart.yaml"],
    "templates/all.yaml": `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: blind }\ndata: { found: "${find("open")}" }\n`,
  };
  await put("blind", blind, { helmLookup: undefined });
  expect(ok(await manifests("blind")).manifests).toMatchObject([{ data: { found: "nothing" } }]);
}, 120_000);
