import { Readable } from "node:stream";
import { evalLines, suiteNames } from "./eval.ts";

/** Asks questions of one suite, one a line, as the command does. */
async function ask(suite: string, ...questions: (object | string)[]): Promise<Record<string, unknown>[]> {
  const lines = questions.map((one) => `${typeof one === "string" ? one : JSON.stringify(one)}\n`);
  const answers: Record<string, unknown>[] = [];
  for await (const line of evalLines(suite, Readable.from(lines))) answers.push(JSON.parse(line));
  return answers;
}
const configMap = (name: string, annotations: Record<string, string> = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, annotations },
});
const HOOK = "argocd.argoproj.io/hook";

const asked: Record<string, { given: object; want: object }> = {
  health: {
    given: { object: { ...configMap("a"), apiVersion: "cert-manager.io/v1", kind: "Issuer" } },
    want: { status: "Progressing", message: "Initializing issuer" },
  },
  actions: {
    given: { object: { ...configMap("a"), apiVersion: "apps/v1", kind: "DaemonSet" } },
    want: { actions: [{ name: "restart" }] },
  },
  "action-run": {
    given: {
      object: { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "a" }, spec: {} },
      action: "pause",
    },
    want: { output: { spec: { paused: true } } },
  },
  retry: { given: { retry: { backoff: { duration: "10", factor: 3 } }, retryCount: 2 }, want: { waitSeconds: 90 } },
  "sync-window": {
    given: {
      windows: [{ kind: "deny", schedule: "0 10 * * *", duration: "1h", applications: ["*"] }],
      app: { metadata: { name: "shop" } },
      time: "2026-01-01T10:30:00Z",
    },
    want: { matching: 1, canSyncAuto: false, canSyncManual: false },
  },
  project: {
    given: { spec: { sourceRepos: ["https://git.example.com/**"] }, repoURL: "https://git.example.com/a/b" },
    want: { sourcePermitted: true },
  },
  "sync-order": {
    given: { targets: [configMap("b"), configMap("late", { [HOOK]: "PostSync" }), configMap("a")] },
    want: { order: [{ name: "a" }, { name: "b" }, { name: "late", phase: "PostSync", hook: true }] },
  },
  appset: {
    given: {
      spec: {
        goTemplate: true,
        generators: [{ list: { elements: [{ n: 1 }] } }],
        template: { metadata: { name: "a-{{.n}}" }, spec: {} },
      },
    },
    want: { applications: [{ metadata: { name: "a-1" } }] },
  },
};
test.each(Object.entries(asked))("%s answers by what is asked alone", async (suite, { given, want }) => {
  expect(await ask(suite, given)).toMatchObject([want]);
});
test("every suite but the one that renders is asked here", () => {
  expect([...Object.keys(asked), "render"].sort()).toEqual(suiteNames());
});
test("answers come in the order of the questions, and nonsense is answered with an error", async () => {
  expect(
    await ask("retry", { retry: {}, retryCount: 0 }, "no JSON", "", {
      retry: { backoff: { duration: "x" } },
      retryCount: 0,
    }),
  ).toEqual([{ waitSeconds: 5 }, { error: expect.any(String) }, { error: "unable to parse x as a duration" }]);
});
