/** The chart and the manifest on a real node; only when asked for (OUTPOST_NODE=1), since it needs root, and a minute where nothing is cached. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { buildAppImage, type Image } from "../cluster/image.ts";
import { type ClusterNode, startNode, stopNode } from "../cluster/node.ts";
import { buildTools, type Programs } from "../cluster/tools.ts";
import { ok } from "../faults/link-world.ts";
import { run, until } from "../servers/run.ts";
import { type InstallWorld, installWorld } from "./world.ts";

const asked = process.env.OUTPOST_NODE === "1" ? describe : describe.skip;
const root = new URL("../..", import.meta.url).pathname;
const MINUTE = 60_000;

asked("on a real node", () => {
  let w: InstallWorld;
  let node: ClusterNode;
  let programs: Programs;
  let image: Image;

  beforeAll(async () => {
    w = await installWorld();
    programs = await buildTools(() => {}, ["helm", "kustomize", "jsonnet", "kubernetes"]);
    const dist = (name: string) => join(root, "dist", name);
    image = await buildAppImage({
      version: w.sha256.slice(0, 8),
      files: { "outpost.mjs": dist("outpost.mjs"), chunks: dist("chunks") },
      programs,
      progress: () => {},
      name: "outpost.local/install",
    });
    node = await startNode({ name: "install", dir: join(w.dir, "n"), images: [image], endWithMe: true });
    await node.expose(w.service.port, "outpost.localhost");
  }, 30 * MINUTE);
  afterAll(async () => {
    await stopNode(join(w.dir, "n"));
    await w?.stop();
  }, MINUTE);

  const asPods = () => ({ endpoint: `http://outpost.localhost:${w.service.port}`, image: image.reference });
  const helm = async (...args: string[]) =>
    (
      await run(programs.helm!, [...args, "--kubeconfig", node.kubeconfig], {
        env: { PATH: process.env.PATH, HOME: w.dir },
        deadlineMs: 5 * MINUTE,
      })
    ).stdout;
  const tokens = async (id: string) =>
    ok(await w.service.api.GET("/v1/delegates/{id}/tokens", { params: { path: { id } } })).items;
  const instances = async (id: string) =>
    (ok(await w.service.api.GET("/v1/delegates/{id}", { params: { path: { id } } })).status.instances ?? []).filter(
      (i) => i.connected,
    );
  /** Everything that a release may leave in its namespace; the namespace's own objects are not its. */
  const left = async (namespace: string) =>
    (
      await node.kubectl(
        ...["-n", namespace, "get", "-o", "name"],
        "deployments,replicasets,pods,secrets,configmaps,serviceaccounts,roles,rolebindings,poddisruptionbudgets,networkpolicies,horizontalpodautoscalers",
      )
    )
      .split("\n")
      .filter((line) => line && !/kube-root-ca\.crt|serviceaccount\/default|secret\/db/.test(line));

  test(
    "the chart: connects, runs a task with its tools and Secrets, takes a new token, scales to two, and leaves nothing",
    async () => {
      await node.apply(
        {
          apiVersion: "v1",
          kind: "Namespace",
          metadata: { name: "chart", labels: { "pod-security.kubernetes.io/enforce": "restricted" } },
        },
        {
          apiVersion: "v1",
          kind: "Secret",
          metadata: { name: "db", namespace: "chart" },
          stringData: { password: "correct horse" },
        },
      );
      const initScript =
        'mkdir -p "$TOOLS/bin"; printf "#!/bin/sh\\necho a tool\\n" > "$TOOLS/bin/greet"; chmod +x "$TOOLS/bin/greet"';
      const file = await w.installer("charted", "helm-values", { ...asPods(), namespace: "chart", initScript });
      const values = parse(readFileSync(file, "utf8")) as { token: string };
      const options = {
        secretsFrom: ["db"],
        config: { logLevel: "debug" },
        networkPolicy: { enabled: true },
        terminationGracePeriodSeconds: 30,
      };
      writeFileSync(file, stringify({ ...values, ...options }));
      const upgrade = (...more: string[]) =>
        helm(
          "upgrade",
          "--install",
          "charted",
          join(root, "modules/charts/outpost-delegate"),
          "-n",
          "chart",
          "--wait",
          "--timeout",
          "240s",
          ...more,
        );
      await upgrade("--values", file);
      await until("it is connected", () => w.connected("charted"), 30_000);
      expect(
        await w.shell("charted", 'greet; id -u; echo "length $(printf %s "$PASSWORD" | wc -c)"; echo "$PASSWORD"', {
          PASSWORD: "${secret:file/db/password}",
        }),
      ).toBe("a tool\n1000\nlength 13\n[secret]\n");

      // A new token: the old one is revoked at once, and the replica that takes its place enrols with the new.
      const [old] = await tokens("charted");
      const made = ok(
        await w.service.api.POST("/v1/delegates/{id}/tokens", { params: { path: { id: "charted" } }, body: {} }),
      );
      const tokenFile = join(w.dir, "new-token");
      writeFileSync(tokenFile, `${made.token}\n`, { mode: 0o600 });
      const before = await node.kubectl("-n", "chart", "get", "pods", "-o", "name");
      await upgrade("--values", file, "--set-file", `token=${tokenFile}`);
      await w.service.api.DELETE("/v1/delegates/{id}/tokens/{token}", {
        params: { path: { id: "charted", token: old!.id } },
      });
      expect(await node.kubectl("-n", "chart", "get", "pods", "-o", "name")).not.toBe(before);
      await until(
        "the new token is used",
        async () => (await tokens("charted")).find((t) => t.id === made.id)!.uses > 0,
      );
      expect(await w.shell("charted", "echo again")).toBe("again\n");

      // Two replicas, with the token that the cluster keeps: this upgrade has none.
      const { token: _, ...tokenless } = { ...values, ...options };
      writeFileSync(file, stringify({ ...tokenless, replicas: 2 }));
      await upgrade("--values", file);
      await until("both are connected", async () => (await instances("charted")).length === 2, 60_000);
      expect((await tokens("charted")).find((t) => t.id === made.id)!.uses).toBeGreaterThanOrEqual(2);

      await helm("uninstall", "charted", "-n", "chart", "--wait", "--timeout", "240s");
      await until("nothing is left", async () => (await left("chart")).length === 0, 60_000);
    },
    6 * MINUTE,
  );

  test(
    "the manifest: applied as it comes, it connects with the rights that were asked for, and deleted it leaves nothing",
    async () => {
      const body = { ...asPods(), namespace: "plain", permissions: "namespace-admin", replicas: 1 };
      const file = await w.installer("applied", "kubernetes", body);
      await node.kubectl("apply", "-f", file);
      await node.kubectl("-n", "plain", "rollout", "status", "deployment/outpost-delegate-applied", "--timeout=240s");
      await until("it is connected", () => w.connected("applied"), 30_000);
      expect(await w.shell("applied", "echo applied")).toBe("applied\n");
      const may = (verb: string, what: string, namespace: string) =>
        node
          .kubectl(
            "auth",
            "can-i",
            verb,
            what,
            "-n",
            namespace,
            "--as=system:serviceaccount:plain:outpost-delegate-applied",
          )
          .then((answer) => answer.trim())
          .catch(() => "no");
      expect([await may("create", "deployments", "plain"), await may("create", "deployments", "default")]).toEqual([
        "yes",
        "no",
      ]);
      await node.kubectl("delete", "-f", file, "--timeout=240s");
      expect(await node.kubectl("get", "namespaces", "-o", "name")).not.toContain("plain");
    },
    4 * MINUTE,
  );

  test(
    "with a Secret of yours, the manifest needs no token, and waits until the Secret is there",
    async () => {
      const body = { ...asPods(), namespace: "own", existingSecret: "mine" };
      const file = await w.installer("own", "kubernetes", body);
      expect(readFileSync(file, "utf8")).not.toContain("ot1_");
      await node.kubectl("apply", "-f", file);
      const { token } = ok(
        await w.service.api.POST("/v1/delegates/{id}/tokens", { params: { path: { id: "own" } }, body: {} }),
      );
      await node.apply({
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "mine", namespace: "own" },
        stringData: { token },
      });
      await node.kubectl("-n", "own", "rollout", "restart", "deployment/outpost-delegate-own");
      await node.kubectl("-n", "own", "rollout", "status", "deployment/outpost-delegate-own", "--timeout=240s");
      expect(await w.connected("own")).toBe(true);
      await node.kubectl("delete", "-f", file, "--timeout=240s");
    },
    4 * MINUTE,
  );
});
