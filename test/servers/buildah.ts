import { existsSync, readFileSync } from "node:fs";
import { chmod, copyFile, cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cacheRoot, once } from "../cluster/cache.ts";
import { unpack } from "../cluster/debian.ts";
import { which } from "../cluster/tools.ts";
import { run } from "./run.ts";

/**
 * Debian's buildah, unpacked and not installed, whatever the machine has: the same everywhere.
 *
 *   const { path, env, policy } = await findBuildah();
 *   run(path, ["build", "--signature-policy", policy, "--tls-verify=false", "-t", `${registry.host}/team/app:1`, dir], { env });
 *
 * As root it needs nothing else. As another user:
 *   - the folder must be readable: `findBuildah({ at })` puts a copy there;
 *   - without a row in /etc/subuid and /etc/subgid, `FROM` and `COPY` work and `RUN` ends with "error setting supplemental
 *     groups list", because a user namespace of one user has none; no-new-privileges may be set;
 *   - with a row for the user (`65534:100000:65536`) all of it works; newuidmap and newgidmap on PATH have to be setuid root
 *     (the copy has them so when root made it), so no-new-privileges must not be set.
 */
export interface Buildah {
  path: string;
  /** To be merged into a child's environment: PATH, storage without mounts (vfs), chroot isolation (no runc, no network of its own). */
  env: Record<string, string>;
  /** For `--signature-policy` of build, pull, push and from: buildah refuses to work without one, and looks in /etc. */
  policy: string;
  /** Puts the policy where buildah looks by itself when HOME is this folder. */
  prepareHome(home: string): Promise<void>;
}

export interface FindBuildahOptions {
  /** A folder for a copy that other users can run. */
  at?: string;
  progress?: (line: string) => void;
}

/** Whether it can be had: Debian's packages can be unpacked here. */
export const canFindBuildah = () => which("apt-get") !== undefined && which("dpkg") !== undefined;

export async function findBuildah({ at, progress = () => {} }: FindBuildahOptions = {}): Promise<Buildah> {
  const packages = await unpack("buildah", ["buildah", "patchelf"], progress);
  const dir = at ? join(at, "buildah") : join(cacheRoot(), "debian", `${packages.dir.split("/").at(-1)}-ready`);
  await once(dir, () => install(packages.dir, dir));
  const policy = join(dir, "etc/policy.json");
  return {
    path: join(dir, "bin/buildah"),
    env: {
      PATH: `${join(dir, "bin")}:${process.env.PATH ?? "/usr/bin:/bin"}`,
      BUILDAH_ISOLATION: "chroot",
      CONTAINERS_REGISTRIES_CONF: join(dir, "etc/registries.conf"),
      CONTAINERS_STORAGE_CONF: join(dir, "etc/storage.conf"),
    },
    policy,
    prepareHome: home(policy),
  };
}

/** Copies what is needed and tells the program where its libraries are: it starts itself again without an environment. */
async function install(from: string, dir: string): Promise<void> {
  for (const folder of ["bin", "etc", "lib"]) await mkdir(join(dir, folder), { recursive: true });
  const libraries = join(from, "usr/lib", `${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu`);
  if (existsSync(libraries)) await cp(libraries, join(dir, "lib"), { recursive: true, verbatimSymlinks: true });
  await run("cp", [
    "--",
    ...["policy.json", "registries.conf"].map((file) => join(from, "etc/containers", file)),
    join(dir, "etc"),
  ]);
  // Root would get overlay, whose mounts outlive the build; the variable STORAGE_DRIVER is not read without such a file.
  await writeFile(join(dir, "etc/storage.conf"), '[storage]\ndriver = "vfs"\n');
  const program = join(dir, "bin/buildah");
  await copyFile(join(from, "usr/bin/buildah"), program);
  const env = { ...process.env, LD_LIBRARY_PATH: libraries };
  // Absolute, as one of those starts is from a file in memory, which has no folder; RPATH, so that it holds for libraries' own.
  await run(join(from, "usr/bin/patchelf"), ["--force-rpath", "--set-rpath", join(dir, "lib"), program], { env });
  for (const name of ["newuidmap", "newgidmap"]) {
    const helper = [join(from, "usr/bin", name), which(name)].find((file) => file && existsSync(file));
    if (!helper) continue;
    await copyFile(helper, join(dir, "bin", name));
    await chmod(join(dir, "bin", name), process.getuid?.() === 0 ? 0o4755 : 0o755);
  }
}

const home = (policy: string) => async (dir: string) => {
  await mkdir(join(dir, ".config/containers"), { recursive: true });
  await copyFile(policy, join(dir, ".config/containers/policy.json"));
};

/** A row of /etc/subuid for a user, which another test may bind over the machine's file in a mount namespace. */
export const subordinateIds = (uid: number) => `${uid}:100000:65536\n`;

/** Whether this machine lets an unprivileged process make a user namespace, which rootless builds stand on. */
export function userNamespaces(): boolean {
  const value = (file: string) => (existsSync(file) ? Number(readFileSync(file, "utf8")) : undefined);
  return value("/proc/sys/user/max_user_namespaces") !== 0 && value("/proc/sys/kernel/unprivileged_userns_clone") !== 0;
}
