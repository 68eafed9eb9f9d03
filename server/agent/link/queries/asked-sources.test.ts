import type { Application } from "../../controller/application.ts";
import { asAsked } from "./asked-sources.ts";

const git = { repoURL: "https://git/a", path: "a", targetRevision: "main" };
const app = {
  metadata: { name: "a" },
  spec: { project: "default", source: git, destination: {} },
  status: {
    history: [
      { id: 3, revision: "c3", source: { ...git, path: "old" }, deployedAt: "" },
      { id: 4, revisions: ["c4", "c5"], sources: [git, { ...git, path: "b" }], deployedAt: "" },
      { id: 5, revision: "c6", deployedAt: "" },
    ],
  },
} as unknown as Application;

test.each([
  [undefined, { source: git }],
  [3, { source: { ...git, path: "old", targetRevision: "c3" } }],
  [
    4,
    {
      sources: [
        { ...git, targetRevision: "c4" },
        { ...git, path: "b", targetRevision: "c5" },
      ],
    },
  ],
])("entry %j is asked with what it deployed, at the commits of then", (history, want) => {
  const got = asAsked(app, history);
  const { source, sources } = got.kind === "done" ? got.value.spec : {};
  expect({ ...(source && { source }), ...(sources && { sources }) }).toEqual(want);
});

test.each([
  [9, "The history has no entry 9. It has 3, 4, 5."],
  [5, "Entry 5 of the history does not say what it deployed."],
])("entry %j cannot be asked for", (history, detail) => {
  expect(asAsked(app, history)).toMatchObject({ kind: "stop", message: detail });
});
