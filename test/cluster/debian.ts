import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../servers/run.ts";
import { cacheRoot, once } from "./cache.ts";
import { type Progress, step } from "./progress.ts";
import { which } from "./tools.ts";

/** Debian packages unpacked in a folder of the cache; nothing is installed. */
export interface Unpacked {
  dir: string;
  /** For PATH, before the machine's own. */
  path: string[];
  /** For LD_LIBRARY_PATH. */
  libraries: string[];
}

/** What a node is run with beside Kubernetes itself. */
export const nodePackages = ["containerd", "runc", "containernetworking-plugins", "nftables"];

/** What the base image takes from Debian where the machine has no Redis or ssh of its own. */
export const basePackages = ["redis-server", "redis-tools", "openssh-client"];

/** sshd for `startGitSsh`, where it is not installed: its path and the folders of its libraries. */
export async function unpackSshd(progress: Progress): Promise<{ sshd: string; libraries: string[] }> {
  const installed = which("sshd");
  if (installed) return { sshd: installed, libraries: [] };
  const { path, libraries } = await unpack("sshd", ["openssh-server"], progress);
  return { sshd: which("sshd", path.join(":")) ?? "sshd", libraries };
}

/** Downloads the packages, and those of their dependencies that this machine lacks, and unpacks them into the cache. */
export async function unpack(name: string, packages: string[], progress: Progress): Promise<Unpacked> {
  if (!which("apt-get") || !which("dpkg"))
    throw new Error(`${name} comes from Debian packages: apt-get and dpkg are needed`);
  const release = /^VERSION_ID="?([^"\n]*)/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? "unknown";
  const key = createHash("sha256")
    .update(JSON.stringify([release, packages]))
    .digest("hex")
    .slice(0, 12);
  const dir = join(cacheRoot(), "debian", `${name}-${key}`);
  await once(dir, () =>
    step(progress, `downloading ${packages.join(", ")} from Debian`, () => fetchInto(dir, packages)),
  );
  const folders = (...under: string[]) =>
    under.map((folder) => join(dir, folder)).filter((folder) => existsSync(folder));
  const arch = (await readdir(join(dir, "usr/lib")).catch(() => [])).filter((folder) => folder.endsWith("-linux-gnu"));
  return {
    dir,
    path: folders("usr/bin", "usr/sbin", "bin", "sbin"),
    libraries: folders(...arch.map((folder) => `usr/lib/${folder}`), ...arch.map((folder) => `lib/${folder}`)),
  };
}

async function fetchInto(dir: string, packages: string[]): Promise<void> {
  const work = await mkdtemp(join(dir, ".work-"));
  try {
    const wanted = await missing(packages).catch(async () => {
      // A fresh container has no package lists at all.
      await run("apt-get", ["update", "-q"], { deadlineMs: 300_000 });
      return missing(packages);
    });
    await run("apt-get", ["download", "-q", ...new Set([...packages, ...wanted])], { cwd: work, deadlineMs: 600_000 });
    const root = join(work, "root");
    await mkdir(root);
    for (const file of await readdir(work))
      if (file.endsWith(".deb")) await run("dpkg", ["-x", join(work, file), root]);
    for (const entry of await readdir(root)) {
      await rm(join(dir, entry), { recursive: true, force: true });
      await rename(join(root, entry), join(dir, entry));
    }
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** What an installation would bring, by apt's own simulation: exactly the dependencies that are not here yet. */
async function missing(packages: string[]): Promise<string[]> {
  return wouldInstall((await run("apt-get", ["install", "-s", "--no-install-recommends", ...packages])).stdout);
}

/** Package names of the `Inst` lines. An upgrade of an installed one (`Inst name [old] (new …)`) is not needed. */
export function wouldInstall(simulation: string): string[] {
  return [...simulation.matchAll(/^Inst (\S+) \(/gm)].map((match) => match[1]!);
}
