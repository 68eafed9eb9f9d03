import { done, stop } from "../../../base/outcome.ts";
import { KUBE } from "../../../kube/errors.ts";
import type { Resource } from "../../../kube/path.ts";
import type { Application } from "../application.ts";
import type { Destination } from "../destination.ts";
import { BY_ANNOTATION } from "../tracking.ts";
import { watchKinds } from "./watch-kinds.ts";

const CRON_JOBS: Resource = { group: "batch", version: "v1", kind: "CronJob", plural: "cronjobs", namespaced: true };

test("objects of a kind whose version is no longer served are watched in the version that is", async () => {
  const row = {
    group: "batch",
    version: "v1beta1",
    kind: "CronJob",
    namespace: "shop",
    name: "nightly",
    status: "Synced",
  };
  const app = {
    metadata: { name: "shop" },
    spec: { destination: {} },
    status: { resources: [row] },
  } as unknown as Application;
  const watched: Resource[] = [];
  const discovery = {
    find: async (_: string, version: string) =>
      version === "v1" ? done(CRON_JOBS) : stop(KUBE.kindNotFound, "no such kind"),
    all: async () => [CRON_JOBS],
  };
  const destination = {
    client: { discovery },
    live: { observe: async (resource: Resource) => done(void watched.push(resource)) },
    adoption: { take: async () => done([]) },
    settings: { tracking: BY_ANNOTATION, rules: [] },
    own: "outpost",
  } as unknown as Destination;
  const { unseen } = await watchKinds({ app, destination, targets: [] });
  expect(watched).toEqual([CRON_JOBS]);
  expect(unseen.size).toBe(0);
});
