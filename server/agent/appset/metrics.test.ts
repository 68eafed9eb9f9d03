import { SetMetrics } from "./metrics.ts";
import type { ApplicationSet } from "./types.ts";

const set = (name: string, reason?: string): ApplicationSet =>
  ({
    apiVersion: "argoproj.io/v1alpha1",
    kind: "ApplicationSet",
    metadata: { name, namespace: "agent", labels: { "team.example.com/name": "shop" } },
    spec: {},
    ...(reason ? { status: { conditions: [{ type: "ResourcesUpToDate", status: "True", reason, message: "" }] } } : {}),
  }) as unknown as ApplicationSet;
const app = (owner: string) => ({
  metadata: {
    name: "a",
    ownerReferences: [
      { apiVersion: "argoproj.io/v1alpha1", kind: "ApplicationSet", name: owner, uid: "1", controller: true },
    ],
  },
});

test("sets are told under Argo CD's names: what became of them, how many applications they have, how long a look took", async () => {
  const sets = [set("one", "ApplicationSetUpToDate"), set("two")];
  const applications = [app("one"), app("one"), app("other")] as never[];
  const metrics = new SetMetrics({ sets: () => sets, applications: () => applications }, ["team.example.com/name"]);
  metrics.reconciled(sets[0]!, 300);
  const text = await metrics.registry.metrics();
  expect(text).toContain(
    'argocd_appset_info{namespace="agent",name="one",resource_update_status="ApplicationSetUpToDate"} 1',
  );
  expect(text).toContain('argocd_appset_info{namespace="agent",name="two",resource_update_status="Unknown"} 1');
  expect(text).toContain('argocd_appset_owned_applications{namespace="agent",name="one"} 2');
  expect(text).toContain('argocd_appset_owned_applications{namespace="agent",name="two"} 0');
  expect(text).toContain('argocd_appset_labels{namespace="agent",name="one",label_team_example_com_name="shop"} 1');
  expect(text).toContain('argocd_appset_reconcile_bucket{le="0.5",namespace="agent",name="one"} 1');
  const gone = sets.pop()!;
  metrics.forget(gone);
  expect(await metrics.registry.metrics()).not.toContain('"two"');
});
