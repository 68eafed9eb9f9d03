import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../servers/run.ts";

const ROOT = "/sys/fs/cgroup";

/** Controllers of cgroup v1 the kubelet looks for. */
const CONTROLLERS = ["cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "blkio", "pids", "hugetlb", "systemd"];

/** True where the machine has only the unified hierarchy. */
const unified = (root: string) => existsSync(join(root, "cgroup.controllers"));

/** The folders that make up a group of this name: one in v2, one for each controller in v1. */
export function groupFolders(name: string, root = ROOT): string[] {
  if (unified(root)) return [join(root, name)];
  return CONTROLLERS.filter((controller) => existsSync(join(root, controller))).map((controller) =>
    join(root, controller, name),
  );
}

/** Makes the group under which the kubelet puts all pods, so that two nodes on one machine do not meet. */
export function makeGroup(name: string, root = ROOT): void {
  if (unified(root)) {
    for (const controller of ["cpu", "cpuset", "memory", "pids"]) {
      try {
        writeFileSync(join(root, "cgroup.subtree_control"), `+${controller}`);
      } catch {
        // Not delegated to us: the kubelet names the one it cannot do without.
      }
    }
  }
  for (const folder of groupFolders(name, root)) {
    mkdirSync(folder, { recursive: true });
    // A new v1 cpuset is empty, and nothing can be put into it until it is filled.
    if (folder === join(root, "cpuset", name)) {
      for (const file of ["cpuset.cpus", "cpuset.mems"])
        writeFileSync(join(folder, file), readFileSync(join(root, "cpuset", file)));
    }
  }
}

/** Removes the group and those below it, once the kernel has let go of the processes in them. */
export async function removeGroup(name: string, root = ROOT): Promise<void> {
  // Where both hierarchies are mounted, runc makes the group in the unified one too.
  for (const folder of [...groupFolders(name, root), join(root, "unified", name)])
    await until(`removing ${folder}`, () => removeTree(folder), 10_000);
}

function removeTree(folder: string): boolean {
  if (!existsSync(folder)) return true;
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory()) removeTree(join(folder, entry.name));
    rmdirSync(folder);
  } catch {
    return false;
  }
  return true;
}
