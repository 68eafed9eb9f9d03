import { fitsFilter } from "./find-applications.ts";

const application = {
  id: "shop-eu",
  spec: {
    agent: "prod",
    destination: {},
    labels: { team: "shop", tier: "front" },
    source: { repoUrl: "https://git.example.com/shop/apps.git", path: "eu/shop" },
  },
} as Parameters<typeof fitsFilter>[0];

test.each<[string, Parameters<typeof fitsFilter>[1], boolean | string]>([
  ["nothing asked", {}, true],
  ["its id", { ids: ["other", "shop-eu"] }, true],
  ["another id", { ids: ["shop"] }, false],
  ["a pattern fits the whole id", { regex: "shop-(eu|us)" }, true],
  ["a pattern that fits a part of it", { regex: "shop" }, false],
  ["a label", { labels: { team: "shop" } }, true],
  ["labels, all of them", { labels: { team: "shop", tier: "back" } }, false],
  ["the same repository in another spelling", { repoUrl: "https://GIT.example.com/shop/apps/" }, true],
  ["another repository", { repoUrl: "https://git.example.com/shop/app" }, false],
  ["a changed file below its path", { paths: ["README.md", "eu/shop/values.yaml"] }, true],
  ["a changed file beside its path", { paths: ["eu/shopping/values.yaml"] }, false],
  ["all together", { ids: ["shop-eu"], labels: { tier: "front" }, paths: ["eu/shop/x"] }, true],
  ["no pattern", { regex: "(" }, "invalid"],
])("%s", (_name, filter, want) => {
  expect(fitsFilter(application, filter)).toBe(want);
});

test("a pattern that would take for ever is given up", () => {
  expect(fitsFilter({ ...application, id: "a".repeat(60) }, { regex: "(a+)+b" })).toBe("slow");
});
