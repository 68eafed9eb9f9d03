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
