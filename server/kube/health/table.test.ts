import type { KubeObject } from "../object.ts";
import { healthOf } from "./health.ts";
import { CHECKS } from "./table.ts";

test("a status of any shape is judged without breaking", () => {
  const odd: unknown[] = [
    undefined,
    null,
    {},
    [],
    "text",
    7,
    { conditions: null },
    { conditions: [null] },
    { conditions: {} },
    { conditions: [{}] },
  ];
  for (const key of Object.keys(CHECKS))
    for (const status of odd)
      for (const spec of [undefined, {}]) {
        const [group, kind] = key.replaceAll("*", "x").split("/") as [string, string];
        const apiVersion = group ? `${group}/v1` : "v1";
        expect(() => healthOf({ apiVersion, kind, metadata: { name: "n" }, spec, status } as KubeObject)).not.toThrow();
      }
});

test("as many kinds have a check as the ecosystem's", () => {
  expect(Object.keys(CHECKS).length).toBeGreaterThan(245);
});
