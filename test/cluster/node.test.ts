/** A real node, only when asked for (OUTPOST_NODE=1): it needs root, and a minute where nothing is cached. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startGit } from "../servers/git.ts";
import { daemon, run, until } from "../servers/run.ts";
import { buildGuestbookImage } from "./image.ts";
import { type ClusterNode, findNode, startNode, stopNode } from "./node.ts";
import { alive } from "./process.ts";
import { buildTools } from "./tools.ts";

const asked = process.env.OUTPOST_NODE === "1" ? describe : describe.skip;

asked("a node", () => {
  const MINUTE = 60_000;
  let work: string;
  let node: ClusterNode;
  const said: string[] = [];

  beforeAll(async () => {
    work = await mkdtemp(join(tmpdir(), "node-test-"));
    const programs = await buildTools(() => {}, ["helm", "kustomize", "jsonnet", "kubernetes"]);
    const guestbook = await buildGuestbookImage(programs, () => {});
    node = await startNode({
      name: "test",
      dir: join(work, "n"),
      progress: (line) => said.push(line),
      images: [guestbook],
      endWithMe: true,
    });
    await node.apply(deployment("guestbook", guestbook.reference), service("guestbook"));
    await node.kubectl("rollout", "status", "deployment/guestbook", "--timeout=60s");
  }, 30 * MINUTE);
  afterAll(async () => {
    await stopNode(join(work, "n"));
    await rm(work, { recursive: true, force: true });
  }, MINUTE);

  const inPod = (script: string) => node.kubectl("exec", "deployment/guestbook", "--", "sh", "-c", script);

  test("says each step with its time", () =>
    expect(said.at(-1)).toMatch(/node test Ready after (\d+ min )?\d+(\.\d)? s/));

  test("runs pods whose logs and shell can be reached", async () => {
    expect(await node.kubectl("logs", "deployment/guestbook")).toContain("guestbook on port 8080");
    expect(await inPod("id -u; git --version; helm version --short; kustomize version")).toMatch(
      /^1000\ngit version .*\nv3\..*\nv5\./,
    );
  });

  test("carries a program's input and its end into a pod, and a port out of it", async () => {
    const kubectl = (await buildTools(() => {}, ["kubernetes"])).kubectl!;
    const { stdout } = await run(
      kubectl,
      ["--kubeconfig", node.kubeconfig, "exec", "-i", "deployment/guestbook", "--", "wc", "-c"],
      {
        input: "x".repeat(300_000),
      },
    );
    expect(stdout.trim()).toBe("300000");
    const forward = daemon(
      kubectl,
      ["--kubeconfig", node.kubeconfig, "port-forward", "deployment/guestbook", "0:8080", "--address=127.0.0.1"],
      {},
    );
    try {
      const port = await until("the forward is open", () => /127\.0\.0\.1:(\d+) ->/.exec(forward.said())?.[1]);
      expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toContain("Guestbook 1");
    } finally {
      await forward.stop();
    }
  });

  test(
    "takes a chart of helm's from the host, and waits for its pods",
    async () => {
      const { helm } = await buildTools(() => {}, ["helm"]);
      const chart = join(work, "chart");
      mkdirSync(join(chart, "templates"), { recursive: true });
      writeFileSync(join(chart, "Chart.yaml"), "apiVersion: v2\nname: page\nversion: 1.0.0\nkubeVersion: '>=1.30'\n");
      writeFileSync(
        join(chart, "templates/all.yaml"),
        JSON.stringify(deployment("charted", "outpost.local/guestbook:1")),
      );
      const options = ["--kubeconfig", node.kubeconfig, "--wait", "--timeout", "60s"];
      expect((await run(helm!, ["install", "page", chart, ...options])).stdout).toContain("STATUS: deployed");
      await run(helm!, ["uninstall", "page", ...options]);
    },
    2 * MINUTE,
  );

  test("leads from the host to a Service", async () => {
    const port = await node.forwardService("default", "guestbook", 80);
    const page = await until("the Service answers", () =>
      fetch(`http://127.0.0.1:${port}/`).then(
        (r) => r.text(),
        () => undefined,
      ),
    );
    expect(page).toContain("Guestbook 1");
  });

  test("pods reach Services by name, and the API server as programs in a cluster do", async () => {
    const get = (url: string) => `node -e 'fetch("${url}").then(r => r.text()).then(console.log)'`;
    expect(
      await until("the Service has endpoints", () =>
        inPod(get("http://guestbook.default.svc.cluster.local/")).catch(() => undefined),
      ),
    ).toContain("Guestbook 1");
    const secure = `NODE_EXTRA_CA_CERTS=/var/run/secrets/kubernetes.io/serviceaccount/ca.crt ${get("https://kubernetes.default/version")}`;
    expect(await inPod(secure)).toContain('"gitVersion": "v1.33.13"');
  });

  test("pods reach servers of the host by name once they are exposed, and not before or after", async () => {
    const server = createServer((_, response) => response.end("from the host")).listen(0, "127.0.0.1");
    await new Promise((done) => server.once("listening", done));
    const { port } = server.address() as { port: number };
    const ask = () =>
      inPod(
        `node -e 'fetch("http://outpost.localhost:${port}/").then(r => r.text()).then(console.log, e => console.log(e.cause.code))'`,
      );
    try {
      expect(await ask()).toMatch(/ENOTFOUND/);
      await node.expose(port, "outpost.localhost");
      expect(await until("the name is known", async () => ((t) => t.startsWith("from") && t)(await ask()))).toBe(
        "from the host\n",
      );
      await node.unexpose(port);
      await until("the name is forgotten", async () => /ENOTFOUND|ECONNREFUSED/.test(await ask()));
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });

  test("git in a pod clones from a Git server of the host", async () => {
    const git = await startGit();
    try {
      await git.createRepository("app", { users: { ada: "pw" }, files: { "a.yaml": "a: 1\n" } });
      await node.expose(git.port, "git.outpost.test");
      const url = git.cloneUrl("app", "ada:pw@git.outpost.test");
      const clone = `cd /tmp && rm -rf app && git clone -q ${url} && cat app/a.yaml`;
      expect(await until("git clones", () => inPod(clone).catch(() => undefined))).toBe("a: 1\n");
    } finally {
      await git.stop();
    }
  });

  test("a program of it that is killed comes back", async () => {
    const programs = readdirSync("/proc").filter((pid) => /^\d+$/.test(pid));
    const scheduler = programs.find((pid) =>
      read(`/proc/${pid}/cmdline`).includes(`${work}/n/pki/scheduler.kubeconfig`),
    );
    process.kill(Number(scheduler), "SIGKILL");
    await until("the restart is counted", () => node.status().restarts["kube-scheduler"] === 1);
    expect(await node.kubectl("get", "--raw", "/readyz")).toBe("ok");
  });

  test("is found by a later process, and a second start gives the same", async () => {
    expect(findNode(node.dir)?.apiUrl).toBe(node.apiUrl);
    expect((await startNode({ name: "test", dir: node.dir })).apiUrl).toBe(node.apiUrl);
  });

  test(
    "two run side by side, and one that loses its host half is gone with everything",
    async () => {
      const other = await startNode({ name: "other", dir: join(work, "o") });
      try {
        expect(other.apiUrl).not.toBe(node.apiUrl);
        const { outside, inside } = JSON.parse(read(join(other.dir, "node.json")));
        process.kill(outside.pid, "SIGKILL");
        await until("the namespaces end", () => !alive(inside));
        expect(findNode(other.dir)).toBeUndefined();
      } finally {
        await other.stop();
      }
      expect(await node.kubectl("get", "--raw", "/readyz")).toBe("ok");
    },
    2 * MINUTE,
  );

  test(
    "leaves no process, mount, control group or folder behind",
    async () => {
      const { outside, inside, cgroup } = JSON.parse(read(join(node.dir, "node.json")));
      await node.stop();
      expect([alive(outside), alive(inside)]).toEqual([false, false]);
      expect(read("/proc/self/mountinfo")).not.toContain(node.dir);
      expect(readdirSync("/sys/fs/cgroup").filter((c) => exists(`/sys/fs/cgroup/${c}/${cgroup}`))).toEqual([]);
      expect(exists(node.dir)).toBe(false);
    },
    MINUTE,
  );
});

const read = (file: string) => {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
};
const exists = (path: string) => {
  try {
    readdirSync(path);
    return true;
  } catch {
    return false;
  }
};

const deployment = (name: string, image: string) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, namespace: "default" },
  spec: {
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: {
        containers: [
          {
            name,
            image,
            imagePullPolicy: "IfNotPresent",
            readinessProbe: { httpGet: { path: "/healthz", port: 8080 }, periodSeconds: 1 },
            securityContext: {
              runAsNonRoot: true,
              allowPrivilegeEscalation: false,
              readOnlyRootFilesystem: true,
              capabilities: { drop: ["ALL"] },
            },
            volumeMounts: [{ name: "tmp", mountPath: "/tmp" }],
          },
        ],
        volumes: [{ name: "tmp", emptyDir: {} }],
      },
    },
  },
});
const service = (name: string) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace: "default" },
  spec: { selector: { app: name }, ports: [{ port: 80, targetPort: 8080 }] },
});
