import { TENANT } from "../../server/agent/project/tenant.ts";
import { RESOURCES } from "../../server/kube/path.ts";
import { CONFIG_MAP, configMap, settings, synced, value, type World, world } from "../journeys/engine-world.ts";
import { B } from "./tenant-tricks.ts";
import { shareEverything } from "./tenant-world.ts";

// Differences that are ignored, and respected, leave what is on the live object. Marks say whose it is: they are no such difference, in whatever
// words a rule names them.
const ID = "argocd.argoproj.io/tracking-id";
const INSTANCE = "app.kubernetes.io/instance";
const OURS = "outpost.dev/app";
const RULES: [string, object][] = [
  ["pointers to the whole maps", { jsonPointers: ["/metadata/labels", "/metadata/annotations"] }],
  ["pointers to each mark", { jsonPointers: [ID, INSTANCE, OURS].flatMap((key) => at(key)) }],
  ["jq", { jqPathExpressions: [".metadata.labels", '.metadata.annotations | .["argocd.argoproj.io/tracking-id"]'] }],
  ["jq of everything", { jqPathExpressions: [".metadata[]"] }],
  ["the manager that wrote them", { managedFieldsManagers: ["forger"] }],
];
function at(key: string): string[] {
  const step = key.replaceAll("/", "~1");
  return [`/metadata/labels/${step}`, `/metadata/annotations/${step}`];
}

let w: World;
beforeAll(async () => {
  w = await world();
  await shareEverything(w);
  await w.git.createRepository("victim", { files: { "a.yaml": configMap("a", {}) } });
  await w.app("victim", { project: "limit", repo: "victim", destination: { name: "in-cluster", namespace: "team-a" } });
  await w.until("victim", synced, "Synced");
}, 120_000);
afterAll(() => w?.stop(), 30_000);

describe.each(["annotation", "label", "annotation+label"])("tracked by %s", (method) => {
  beforeAll(async () => {
    await settings(w, "argocd-cm", { "application.resourceTrackingMethod": method });
    await w.settled(async () => w.controller.deps.settings.tracking.method === method, "the settings are read");
  });
  const short = method.replace(/\W/g, "-");

  test.each(RULES.map(([name, rule], i) => [name, rule, `${short}-${i}`] as const))(
    "forged marks that are ignored by %s give way to the application's own",
    async (_, rule, name) => {
      const there = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "team-b" } };
      value(await w.client.create(CONFIG_MAP, there));
      const labels = { [INSTANCE]: "victim", kept: "1" };
      const forged = { metadata: { labels, annotations: { [ID]: `victim:/ConfigMap:team-b/${name}` } } };
      value(await w.client.mergePatch(CONFIG_MAP, "team-b", name, forged, { manager: "forger" }));
      const chart = `, labels: {kept: "2", ${INSTANCE}: mine}, annotations: {note: "2"}`;
      await w.git.createRepository(name, { files: { "a.yaml": configMap(name, {}, chart) } });
      await w.app(
        name,
        {
          project: "limit",
          repo: name,
          destination: { name: "in-cluster", namespace: "team-b" },
          ignoreDifferences: [{ kind: "ConfigMap", ...rule }],
          syncPolicy: { automated: { selfHeal: true }, syncOptions: ["RespectIgnoreDifferences=true"] },
        },
        { annotations: { [TENANT]: B } },
      );
      await w.until(name, synced, "Synced");
      const marks = async () => {
        const live = (await w.object(CONFIG_MAP, "team-b", name))!.metadata;
        const counts = method === "label" ? live.labels?.[INSTANCE] : live.annotations?.[ID];
        return [live.labels?.[OURS], counts];
      };
      const own = [name, method === "label" ? name : `${name}:/ConfigMap:team-b/${name}`];
      expect(await marks()).toEqual(own);
      // What stands on the object later is put right too.
      const none = { metadata: { labels: { [INSTANCE]: null }, annotations: { [ID]: null } } };
      value(await w.client.mergePatch(CONFIG_MAP, "team-b", name, none, { manager: "forger" }));
      await w.settled(async () => (await marks()).join() === own.join(), "the marks are back");
    },
  );
});

test("nothing of that became a part of the application that was named", async () => {
  await w.restart();
  await w.refresh("victim", "hard");
  const { status } = await w.get("victim");
  expect(status!.resources!.map(({ name }) => name)).toEqual(["a"]);
  const { items } = value(await w.client.list(RESOURCES.configMap, { labelSelector: `${OURS}=victim` }));
  expect(items.map(({ metadata }) => metadata.name)).toEqual(["a"]);
});
