/**
 * What this machine lacks for the quickstart, found without changing anything and without a package installed.
 * Each lack is `{ missing, whatToDo }`.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statfsSync } from "node:fs";
import { createConnection } from "node:net";
import { freemem, homedir } from "node:os";
import { dirname, join } from "node:path";
import { offered } from "../cluster/downloads.mjs";

const GiB = 2 ** 30;
const NODE = [20, 19];
const TERRAFORM = [1, 11];
const GO = [1, 26];
// Measured: node_modules 0.6 GiB, a node with its images 1 GiB; cold builds of every tool with Go's caches 9 GiB.
const RUN_DISK = 3 * GiB;
const BUILD_DISK = 12 * GiB;
const MEMORY = 1.5 * GiB;

/** Too old a Node cannot even install the packages. */
export function checkNodeVersion(version = process.versions.node) {
  if (atLeast(version, NODE)) return [];
  return [
    {
      missing: `Node.js ${NODE.join(".")} or newer; this is ${version}`,
      whatToDo: "install a current Node.js from https://nodejs.org",
    },
  ];
}

export async function check({ root, port, own, reuse }) {
  const lacks = checkNodeVersion();
  const need = (ok, missing, whatToDo) => ok || lacks.push({ missing, whatToDo });
  need(has("git"), "git", "install git: apt-get install git, or https://git-scm.com");
  need(has("npm"), "npm", "it comes with Node.js: https://nodejs.org");
  const terraform = versionOf("terraform", ["version", "-json"], /"terraform_version":\s*"([\d.]+)/);
  need(
    terraform,
    "terraform",
    `install Terraform ${TERRAFORM.join(".")} or newer: https://developer.hashicorp.com/terraform/install`,
  );
  if (terraform)
    need(
      atLeast(terraform, TERRAFORM),
      `Terraform ${TERRAFORM.join(".")} or newer; this is ${terraform}`,
      "write-only arguments need it: https://developer.hashicorp.com/terraform/install",
    );
  if (port && !reuse && (await taken(port)))
    need(
      false,
      `port ${port} of 127.0.0.1; another program has it`,
      `end that program, or choose another: npm run quickstart -- --port ${port + 1}`,
    );
  own ? checkOwn(own, need) : checkLocal(need, reuse);
  const tools = missingTools(root, own ? ["terraform-provider-helm"] : undefined);
  const go = tools.length ? versionOf("go", ["version"], /go([\d.]+)/) : undefined;
  if (tools.length && !(go && atLeast(go, GO))) {
    const canDownload = await offered(tools);
    const toBuild = tools.filter((name) => !canDownload.includes(name));
    need(
      !toBuild.length,
      `Go ${GO.join(".")} or newer, to build ${toBuild.join(", ")} once`,
      "install Go: https://go.dev/dl",
    );
  }
  const cache = cacheRoot();
  const disk = tools.length ? BUILD_DISK : RUN_DISK;
  const free = freeDisk(cache);
  if (!reuse)
    need(
      free >= disk,
      `${disk / GiB} GiB of disk for ${cache}; there are ${(free / GiB).toFixed(1)}`,
      "make room, or set OUTPOST_CACHE to a folder with more",
    );
  return lacks;
}

function checkLocal(need, reuse) {
  const ownCluster = "or use a cluster you have: npm run quickstart -- --kubeconfig FILE --address URL --image REF";
  if (process.platform !== "linux" || process.arch !== "x64")
    return need(
      false,
      `Linux on x86-64 for the local cluster; this is ${process.platform} on ${process.arch}`,
      `run it in a Linux virtual machine, ${ownCluster}`,
    );
  if (process.getuid() !== 0)
    return need(
      false,
      "root, which the local cluster's namespaces and mounts need",
      `sudo npm run quickstart, ${ownCluster}`,
    );
  const packages = {
    unshare: "util-linux",
    setpriv: "util-linux",
    mount: "mount",
    ip: "iproute2",
    openssl: "openssl",
    tar: "tar",
    bash: "bash",
  };
  for (const [program, from] of Object.entries(packages)) need(has(program), program, `apt-get install ${from}`);
  need(
    has("apt-get") && has("dpkg"),
    "apt-get and dpkg, to unpack containerd from Debian's packages",
    `use Debian or Ubuntu, ${ownCluster}`,
  );
  need(
    existsSync("/sys/fs/cgroup") && readdirSync("/sys/fs/cgroup").length > 0,
    "control groups in /sys/fs/cgroup",
    `a container needs --privileged, ${ownCluster}`,
  );
  if (!reuse) need(freemem() > MEMORY || available() > MEMORY, "1.5 GiB of free memory", "end other programs");
  if (has("unshare")) {
    const { status } = spawnSync(
      "unshare",
      ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--", "true"],
      {
        stdio: "ignore",
        timeout: 10_000,
      },
    );
    need(status === 0, "permission to make namespaces (unshare)", `a container needs --privileged, ${ownCluster}`);
  }
}

function checkOwn({ kubeconfig, context, address, image }, need) {
  need(existsSync(kubeconfig), `the file ${kubeconfig}`, "give the kubeconfig of your cluster: --kubeconfig FILE");
  need(
    address,
    "--address",
    "give the address at which your cluster's pods reach this machine: --address http://192.0.2.10:8080",
  );
  need(
    image,
    "--image",
    "give an image of dist/ which your cluster can pull (docs: modules/charts/outpost-agent): --image registry.example.com/outpost:0.1.0",
  );
  if (!has("kubectl")) return need(false, "kubectl", "https://kubernetes.io/docs/tasks/tools");
  if (!existsSync(kubeconfig)) return;
  const { status } = spawnSync(
    "kubectl",
    [
      "--kubeconfig",
      kubeconfig,
      ...(context ? ["--context", context] : []),
      "--request-timeout=10s",
      "get",
      "--raw",
      "/readyz",
    ],
    { stdio: "ignore", timeout: 20_000 },
  );
  need(
    status === 0,
    `an answer from the cluster of ${kubeconfig}${context ? ` (context ${context})` : ""}`,
    "try: kubectl get nodes",
  );
}

/** The tools that test/cluster would have to build; a folder is named after its go.mod and go.sum. */
export function missingTools(root, only) {
  const dir = join(root, "test/cluster/tools");
  return readdirSync(dir).filter((name) => {
    if (only && !only.includes(name)) return false;
    const hash = createHash("sha256");
    for (const file of ["go.mod", "go.sum"]) hash.update(readFileSync(join(dir, name, file)));
    return !existsSync(join(cacheRoot(), "tools", `${name}-${hash.digest("hex").slice(0, 12)}`, ".done"));
  });
}

export const cacheRoot = (env = process.env) => env.OUTPOST_CACHE || join(homedir(), ".cache", "outpost");

/** Whether version `text` is at least `least`, number by number. */
export function atLeast(text, least) {
  const parts = String(text).split(".").map(Number);
  for (let i = 0; i < least.length; i++) if ((parts[i] ?? 0) !== least[i]) return (parts[i] ?? 0) > least[i];
  return true;
}

/** Whether anything listens there. */
export function taken(port) {
  return new Promise((resolve) => {
    const socket = createConnection({ host: "127.0.0.1", port });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

// ip and sysctl live in sbin folders, which are not on every user's PATH.
function has(program) {
  const folders = [...(process.env.PATH ?? "").split(":"), "/usr/local/sbin", "/usr/sbin", "/sbin"];
  return folders.some((folder) => folder && existsSync(join(folder, program)));
}

function versionOf(program, args, pattern) {
  const { stdout, error } = spawnSync(program, args, {
    encoding: "utf8",
    timeout: 20_000,
    env: { ...process.env, CHECKPOINT_DISABLE: "1" },
  });
  return error ? undefined : pattern.exec(stdout ?? "")?.[1];
}

function freeDisk(path) {
  let at = path;
  while (!existsSync(at)) at = dirname(at);
  const { bavail, bsize } = statfsSync(at);
  return bavail * bsize;
}

function available() {
  const line = /^MemAvailable:\s+(\d+) kB/m.exec(
    existsSync("/proc/meminfo") ? readFileSync("/proc/meminfo", "utf8") : "",
  );
  return line ? Number(line[1]) * 1024 : 0;
}
