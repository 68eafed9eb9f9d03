import { skips } from "./skips.ts";

test.each<[string | undefined, boolean]>([
  ["true", true],
  ["True", true],
  ["1", true],
  ["false", false],
  ["yes", false],
  ["", false],
  [undefined, false],
])("what is annotated with skip-reconcile: %s is left alone: %s", (said, want) => {
  expect(
    skips({
      metadata: { name: "a", annotations: said === undefined ? {} : { "argocd.argoproj.io/skip-reconcile": said } },
    }),
  ).toBe(want);
});
