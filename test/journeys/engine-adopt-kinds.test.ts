import { value, type World, world } from "./engine-world.ts";
import { leave } from "./former-engine.ts";

/** Kinds into which the API server, an admission plugin or a controller fills much that Git does not say: defaults, finalizers, labels. */
const KINDS: Record<string, string> = {
  claim: `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`,
  scaler: `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: scaler}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: db}, minReplicas: 1, maxReplicas: 3}
`,
  db: `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 1
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: x}]}}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]
`,
  cron: `apiVersion: batch/v1
kind: CronJob
metadata: {name: cron}
spec: {schedule: "0 0 1 1 *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}}}
`,
  once: `apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: x}]}}}
`,
  ingress: `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: ingress}
spec: {rules: [{host: a.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}
`,
  policy: `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: policy}
spec: {podSelector: {}}
`,
  budget: `apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: budget}
spec: {minAvailable: 1, selector: {matchLabels: {app: db}}}
`,
  balancer: `apiVersion: v1
kind: Service
metadata: {name: balancer}
spec: {type: LoadBalancer, selector: {app: db}, ports: [{port: 80}]}
`,
  lone: `apiVersion: v1
kind: Pod
metadata: {name: lone}
spec: {containers: [{name: c, image: x}]}
`,
};
const NAMES = Object.keys(KINDS);
let w: World;
beforeAll(async () => {
  w = await world();
  await w.halt();
  for (const name of NAMES) {
    await leave(w, { name, manifests: KINDS[name]! });
    // The branch has moved on since, as that of many applications does: whether a sync was tried is not to count.
    await w.git.commit(name, { "other/file": "" }, "something else");
  }
  // What controllers and people of the cluster put on objects.
  const theirs = { metadata: { finalizers: ["service.kubernetes.io/load-balancer-cleanup"], labels: { theirs: "1" } } };
  const service = value(await w.client.discovery.find("", "v1", "Service"));
  value(await w.client.mergePatch(service, "balancer", "balancer", theirs, { manager: "theirs" }));
  await w.restart();
}, 120_000);
afterAll(() => w?.stop(), 30_000);

test.each(NAMES)("an object with many defaults is taken over without a sync: %s", async (name) => {
  const before = await w.get(name);
  await w.refresh(name);
  const { status } = await w.get(name);
  expect([status?.sync?.status, status?.operationState?.startedAt, status?.history?.length]).toEqual([
    "Synced",
    before.status?.operationState?.startedAt,
    1,
  ]);
});
