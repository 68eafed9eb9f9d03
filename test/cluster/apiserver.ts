import { createHash, generateKeyPairSync, randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { homedir, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { type Daemon, daemon, freePort } from "../servers/run.ts";

/** A real kube-apiserver with a real etcd on loopback, without nodes or controllers: enough for everything that only reads and writes objects. */
export interface ApiServer {
  /** Path of a kubeconfig with all rights. */
  kubeconfig: string;
  url: string;
  /** A kubeconfig for another user, who has only the rights a test gives with RBAC objects. */
  kubeconfigFor(user: "limited"): string;
  /** What it was asked so far, by whom and for whom; nothing unless it was started with an audit log. */
  audit(): AuditEvent[];
  stop(): Promise<void>;
  pids: { apiserver: number; etcd: number };
}

export interface AuditEvent {
  verb: string;
  requestURI: string;
  user: { username: string };
  impersonatedUser?: { username: string };
  objectRef?: { apiGroup?: string; resource: string; namespace?: string; name?: string; subresource?: string };
  responseStatus?: { code: number };
}

// Who asked for what and when; no bodies.
const AUDIT = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata" }],
};

const DEADLINE_MS = 180_000;

/** A tool that `npm test` builds from its go.mod into the user's cache, or the one on PATH. */
export function toolPath(tool: string, binary = tool): string {
  const folder = join(import.meta.dirname, "tools", tool);
  const hash = createHash("sha256");
  for (const file of ["go.mod", "go.sum"]) hash.update(readFileSync(join(folder, file)));
  const built = join(
    process.env.OUTPOST_TOOLS ?? join(homedir(), ".cache/outpost/tools"),
    `${tool}-${hash.digest("hex").slice(0, 12)}`,
  );
  const found = [join(built, binary), join(built, "v3"), join(built, "server"), join(built, "v5")].find(
    (path, i) => existsSync(path) && (i === 0 || tool === "etcd" || tool === "kustomize"),
  );
  if (found) return found;
  const onPath = (process.env.PATH ?? "").split(delimiter).map((dir) => join(dir, binary));
  const other = onPath.find((path) => existsSync(path));
  if (other) return other;
  throw new Error(`${binary} is neither in ${built} nor on PATH`);
}

/** Starts both and resolves when the API server says it is ready (3 to 6 s). */
export async function startApiServer({ audit = false } = {}): Promise<ApiServer> {
  const folder = mkdtempSync(join(tmpdir(), "outpost-apiserver-"));
  const [client, peer, port] = [await freePort(), await freePort(), await freePort()];
  const tokens = { admin: randomBytes(16).toString("hex"), limited: randomBytes(16).toString("hex") };
  writeFileSync(
    join(folder, "tokens.csv"),
    `${tokens.admin},admin,admin,system:masters\n${tokens.limited},limited,limited\n`,
    {
      mode: 0o600,
    },
  );
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  writeFileSync(join(folder, "sa.key"), privateKey.export({ type: "pkcs1", format: "pem" }), { mode: 0o600 });
  writeFileSync(join(folder, "sa.pub"), publicKey.export({ type: "spki", format: "pem" }));

  const auditLog = join(folder, "audit.log");
  if (audit) writeFileSync(join(folder, "policy.json"), JSON.stringify(AUDIT));

  const etcd = daemon(toolPath("etcd"), [
    `--data-dir=${join(folder, "etcd")}`,
    `--listen-client-urls=http://127.0.0.1:${client}`,
    `--advertise-client-urls=http://127.0.0.1:${client}`,
    `--listen-peer-urls=http://127.0.0.1:${peer}`,
    `--initial-advertise-peer-urls=http://127.0.0.1:${peer}`,
    `--initial-cluster=default=http://127.0.0.1:${peer}`,
    "--unsafe-no-fsync",
    "--log-level=warn",
  ]);
  const apiserver = daemon(toolPath("kubernetes", "kube-apiserver"), [
    `--etcd-servers=http://127.0.0.1:${client}`,
    "--bind-address=127.0.0.1",
    "--advertise-address=192.0.2.2",
    `--secure-port=${port}`,
    // It makes its own serving certificate here.
    `--cert-dir=${join(folder, "certs")}`,
    `--token-auth-file=${join(folder, "tokens.csv")}`,
    "--authorization-mode=RBAC",
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${join(folder, "sa.pub")}`,
    `--service-account-signing-key-file=${join(folder, "sa.key")}`,
    // A /24 would hold 254 Services, fewer than a benchmark makes.
    "--service-cluster-ip-range=10.96.0.0/16",
    // No controller-manager runs, so the default ServiceAccount that this plugin waits for is not made.
    "--disable-admission-plugins=ServiceAccount",
    "--endpoint-reconciler-type=none",
    ...(audit ? [`--audit-policy-file=${join(folder, "policy.json")}`, `--audit-log-path=${auditLog}`] : []),
  ]);
  const stop = async () => {
    // Nothing in them is worth keeping, and a graceful end takes seconds.
    await apiserver.stop("SIGKILL");
    await etcd.stop("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await ready(port, tokens.admin, [etcd, apiserver]);
  } catch (error) {
    await stop();
    throw error;
  }
  const url = `https://127.0.0.1:${port}`;
  const ca = readFileSync(join(folder, "certs", "apiserver.crt")).toString("base64");
  const write = (user: keyof typeof tokens) => {
    const path = join(folder, `${user}.kubeconfig`);
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "test", cluster: { server: url, "certificate-authority-data": ca } }],
      users: [{ name: user, user: { token: tokens[user] } }],
      contexts: [{ name: "test", context: { cluster: "test", user } }],
      "current-context": "test",
    };
    writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
    return path;
  };
  return {
    kubeconfig: write("admin"),
    url,
    kubeconfigFor: write,
    // The last line may still be being written.
    audit: () =>
      (audit ? readFileSync(auditLog, "utf8").split("\n").slice(0, -1) : []).map(
        (line) => JSON.parse(line) as AuditEvent,
      ),
    stop,
    pids: { apiserver: apiserver.child.pid!, etcd: etcd.child.pid! },
  };
}

async function ready(port: number, token: string, servers: Daemon[]): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (Date.now() < deadline) {
    const gone = servers.find((server) => server.ended());
    if (gone) throw new Error(`${gone.ended()}: ${gone.said().slice(-2_000)}`);
    if (await ask(port, token)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`kube-apiserver was not ready within ${DEADLINE_MS / 1_000} s`);
}

function ask(port: number, token: string): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = request(
      // The certificate is made by the server itself a moment before; this only asks whether it is up.
      {
        host: "127.0.0.1",
        port,
        path: "/readyz",
        headers: { authorization: `Bearer ${token}` },
        rejectUnauthorized: false,
        timeout: 2_000,
      },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode === 200);
      },
    );
    asked.on("error", () => resolve(false));
    asked.on("timeout", () => asked.destroy());
    asked.end();
  });
}
