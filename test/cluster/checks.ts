import { existsSync, readdirSync } from "node:fs";
import { mkdir, mkdtemp, rm, statfs } from "node:fs/promises";
import { freemem } from "node:os";
import { join } from "node:path";
import { run } from "../servers/run.ts";
import { cacheRoot } from "./cache.ts";
import { offered } from "./downloads.mjs";
import { recipes } from "./recipes.ts";
import { GET_GO, missingTools, which } from "./tools.ts";

/** Something this machine lacks, and what a person can do about it. */
export interface Lack {
  missing: string;
  whatToDo: string;
}

const GiB = 2 ** 30;
/** A node with a few pods; measured 0.8 GiB. */
const MEMORY = 1.5 * GiB;
/** Cold builds of everything, with Go's module and build caches. */
const BUILD_DISK = 10 * GiB;
const RUN_DISK = 3 * GiB;

/** What stands in the way of a node on this machine; nothing is changed by asking. */
export async function checkNode(): Promise<Lack[]> {
  if (process.platform !== "linux" || process.arch !== "x64") {
    return [
      {
        missing: "Linux on x86-64",
        whatToDo: "use a cluster you have (its kubeconfig), or run this in a Linux virtual machine",
      },
    ];
  }
  if (process.getuid?.() !== 0) {
    return [
      {
        missing: "root, which namespaces and mounts need",
        whatToDo: "run the command with sudo, or use a cluster you have (its kubeconfig)",
      },
    ];
  }
  const lacks: Lack[] = [];
  const need = (ok: boolean, missing: string, whatToDo: string) => {
    if (!ok) lacks.push({ missing, whatToDo });
    return ok;
  };
  const packages = {
    unshare: "util-linux",
    setpriv: "util-linux",
    mount: "mount",
    ip: "iproute2",
    openssl: "openssl",
    tar: "tar",
    bash: "bash",
  };
  for (const [program, from] of Object.entries(packages))
    need(Boolean(which(program)), program, `apt-get install ${from}`);
  need(
    existsSync("/sys/fs/cgroup") && readdirSync("/sys/fs/cgroup").length > 0,
    "control groups in /sys/fs/cgroup",
    "mount them, or do not run inside a container",
  );
  need(freemem() > MEMORY, "1.5 GiB of free memory", "end other programs or use a larger machine");
  if (lacks.length) return lacks;

  const works = (args: string[]) =>
    run("unshare", args, { deadlineMs: 10_000 }).then(
      () => true,
      () => false,
    );
  const spaces = await works(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--", "true"]);
  const inContainer = "a container needs --privileged; a virtual machine works as it is";
  if (!need(spaces, "permission to make namespaces (unshare)", inContainer)) return lacks;
  const veth = ["ip", "link", "add", "probe0", "type", "veth", "peer", "name", "probe1"];
  need(await works(["--net", "--", ...veth]), "virtual Ethernet pairs in the kernel", "modprobe veth");
  await mkdir(cacheRoot(), { recursive: true });
  const probe = await mkdtemp(join(cacheRoot(), ".overlay-"));
  try {
    for (const folder of ["lower", "upper", "work", "at"]) await mkdir(join(probe, folder));
    const layers = `lowerdir=${probe}/lower,upperdir=${probe}/upper,workdir=${probe}/work`;
    const overlay = await works(["--mount", "--", "mount", "-t", "overlay", "overlay", "-o", layers, `${probe}/at`]);
    need(
      overlay,
      `overlay mounts in ${cacheRoot()}`,
      "modprobe overlay, and set OUTPOST_CACHE to a folder on a disk (ext4, xfs)",
    );
  } finally {
    await rm(probe, { recursive: true, force: true });
  }
  return lacks;
}

/** What stands in the way of making the tools, those already in the cache not counted. */
export async function checkTools(names?: string[]): Promise<Lack[]> {
  const lacks: Lack[] = [];
  const missing = await missingTools(names);
  await mkdir(cacheRoot(), { recursive: true });
  const { bavail, bsize } = await statfs(cacheRoot());
  const disk = missing.length ? BUILD_DISK : RUN_DISK;
  if (bavail * bsize < disk) {
    lacks.push({
      missing: `${disk / GiB} GiB of disk in ${cacheRoot()}`,
      whatToDo: "make room, or set OUTPOST_CACHE to a folder with more",
    });
  }
  const canDownload = missing.length && !which("go") ? await offered(missing) : missing;
  const toBuild = missing.filter((name) => !canDownload.includes(name));
  if (toBuild.length) {
    const minutes = recipes
      .filter(({ name }) => toBuild.includes(name))
      .reduce((sum, recipe) => sum + recipe.minutes, 0);
    lacks.push({ missing: `go, to build ${toBuild.join(", ")} (about ${minutes} min, once)`, whatToDo: GET_GO });
  }
  if (!which("apt-get") || !which("dpkg")) {
    lacks.push({
      missing: "apt-get and dpkg, to unpack containerd from Debian's packages",
      whatToDo: "use Debian or Ubuntu, or a cluster you have",
    });
  }
  return lacks;
}

/** Terraform is only looked for: it is not ours to install. */
export function checkTerraform(): Lack[] {
  if (which("terraform") || which("tofu")) return [];
  return [
    {
      missing: "terraform",
      whatToDo: "install Terraform 1.11 or newer from https://developer.hashicorp.com/terraform/install",
    },
  ];
}

/** The list for people, one line each. */
export const lackLines = (lacks: Lack[]): string[] =>
  lacks.map(({ missing, whatToDo }) => `missing: ${missing}\n   what to do: ${whatToDo}`);
