import { done } from "../../../base/outcome.ts";
import type { KubeClient } from "../../../kube/client.ts";
import type { Application } from "../application.ts";
import { Store } from "./store.ts";

const app = (uid: string, resourceVersion: string, path = "a"): Application => ({
  apiVersion: "argoproj.io/v1alpha1",
  kind: "Application",
  metadata: { name: "shop", namespace: "agent", uid, resourceVersion },
  spec: { source: { repoURL: "https://git.example/r", path }, destination: {} },
});

/** A store whose requests are answered with this, after that has happened. */
function world(answer: Application, meanwhile: (store: Store) => void) {
  const answering = async () => {
    meanwhile(store);
    return done(answer);
  };
  const foreign: string[] = [];
  const store = new Store(
    { mergePatch: answering, update: answering, get: answering } as unknown as KubeClient,
    "agent",
  );
  store.onForeignChange = (name) => foreign.push(name);
  store.seen(app("one", "5"));
  return { store, foreign };
}

const WAYS: Record<string, (store: Store) => Promise<unknown>> = {
  patch: (store) => store.patch("shop", { status: {} }, false),
  replace: (store) => store.replace(app("one", "5"), { status: {} }),
  reread: (store) => store.reread("shop"),
};

describe.each(Object.entries(WAYS))("the answer to %s", (way, ask) => {
  test("is what is known from then on", async () => {
    const { store } = world(app("one", "7"), () => undefined);
    await ask(store);
    expect(store.get("shop")?.metadata.resourceVersion).toBe("7");
  });

  test("does not bring an application back that is gone", async () => {
    const { store, foreign } = world(app("one", "7", "b"), (s) => s.gone("shop"));
    await ask(store);
    expect([store.get("shop"), store.all(), foreign]).toEqual([undefined, [], []]);
  });

  test("is nothing to another one of its name", async () => {
    const { store, foreign } = world(app("one", "7", "b"), (s) => {
      s.gone("shop");
      s.seen(app("two", "6"));
    });
    await ask(store);
    expect([store.get("shop")?.metadata.uid, foreign]).toEqual(["two", []]);
  });

  test("is older than what was seen meanwhile", async () => {
    const { store } = world(app("one", "7"), (s) => s.seen(app("one", "9")));
    await ask(store);
    expect(store.get("shop")?.metadata.resourceVersion).toBe("9");
  });

  if (way !== "replace")
    test("tells of somebody else's change", async () => {
      const { store, foreign } = world(app("one", "7", "b"), () => undefined);
      await ask(store);
      expect(foreign).toEqual(["shop"]);
    });
});
