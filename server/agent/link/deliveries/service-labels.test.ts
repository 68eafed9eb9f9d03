import { serviceLabels } from "./service-labels.ts";
import { toSetSpec } from "./set.ts";

test("an application says its service and environment in labels", () => {
  expect(serviceLabels({ service: "cart", environment: "account.live" })).toEqual({
    "deploy.outpost.dev/service": "cart",
    "deploy.outpost.dev/environment": "account.live",
  });
  expect(serviceLabels({})).toEqual({});
  // A label holds 63 characters; a reference to a scope above may have 71.
  expect(serviceLabels({ service: `account.${"a".repeat(63)}` })).toEqual({});
});

test("a set says them in its template, with parameters, and keeps the template's own labels", () => {
  const { template, ...rest } = toSetSpec({
    agent: "prod",
    generators: [{ list: { elements: [] } }],
    template: { metadata: { name: "{{ .name }}", labels: { team: "shop" } }, spec: {} },
    service: "{{ .path.basename }}",
    environment: "live",
  } as never);
  expect(template).toEqual({
    metadata: {
      name: "{{ .name }}",
      labels: {
        team: "shop",
        "deploy.outpost.dev/service": "{{ .path.basename }}",
        "deploy.outpost.dev/environment": "live",
      },
    },
    spec: {},
  });
  expect(rest).toEqual({ generators: [{ list: { elements: [] } }] });
});
