import { setFaults } from "../../../control/domain/rules/applicationset.ts";
import { PULLS, SCM } from "../hosts/table.ts";
import { validateApplication } from "./validate.ts";

const app = (metadata: object) => ({
  metadata: { name: "a", ...metadata },
  spec: { source: {}, destination: { name: "in-cluster" } },
});

test.each([
  ["labels", { labels: { "outpost.dev/managed": "true" } }],
  ["annotations", { annotations: { "outpost.dev/uid": "u" } }],
])("an application that would pass for one of the service is refused by its %s", (_, metadata) => {
  expect(validateApplication(app(metadata), "outpost-agent")).toMatch(/is to carry outpost\.dev\//);
});

test("what it waits for and who looks at the cluster for it may be said", () => {
  const annotations = { "outpost.dev/depends-on": "b", "outpost.dev/helm-lookup": "reader", "example.com/a": "b" };
  expect(validateApplication(app({ annotations }), "outpost-agent")).toBeUndefined();
});

test.each([
  ["scmProvider", SCM],
  ["pullRequest", PULLS],
])("what the service lets a set ask by %s is what is asked", (kind, hosts) => {
  const faults = (host: string) => {
    const template = { metadata: { name: "{{ .a }}" }, spec: {} };
    return setFaults({ generators: [{ [kind]: { [host]: {} } }], template } as unknown as Parameters<
      typeof setFaults
    >[0]);
  };
  for (const host of Object.keys(hosts)) expect(faults(host)).toEqual([]);
  const [fault] = faults("sourceforge");
  expect([...fault!.detail.matchAll(/`(\w+)`/g)].map(([, name]) => name).sort()).toEqual(Object.keys(hosts).sort());
});
