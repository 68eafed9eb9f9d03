import { createHash } from "node:crypto";
import { existsSync, realpathSync, statSync } from "node:fs";
import { chmod, copyFile, cp, mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { run } from "../servers/run.ts";
import type { Unpacked } from "./debian.ts";
import { type Programs, which } from "./tools.ts";

/** Raise it when the way of filling changes, so that old bases are not used again. */
const FORM = 4;

/** Small programs a shell task or a person with `kubectl exec` expects. */
const SHELL =
  "bash cat chmod cp cut date dirname basename echo env expr false find grep gzip head hostname id kill ln ls mkdir mktemp mv printf pwd readlink rm rmdir sed seq sha256sum sleep sort stat tail tar tee test touch tr true uname uniq wc xargs".split(
    " ",
  );

/** Parts of git which are programs of their own; all others are git itself. */
const GIT_PARTS = ["git-remote-http", "git-sh-setup", "git-sh-i18n", "git-submodule"];

/** Libraries which glibc opens by name to look up hosts and users; ldd does not show them. */
const NAME_SERVICE = ["libnss_files.so.2", "libnss_dns.so.2", "libresolv.so.2"];

/** Programs that not every machine has; their packages stand in. */
export const FROM_DEBIAN = ["redis-server", "ssh"];

/** A base file system: its key, which changes with any file it is made of, and how to make it. */
export interface Base {
  key: string;
  fill(root: string): Promise<void>;
}

/** Collects what the base consists of: programs of this machine, or of unpacked packages, with the libraries they need. */
export async function makeBase(programs: Programs, packages: Unpacked[] = []): Promise<Base> {
  const gitParts = (await run("git", ["--exec-path"])).stdout.trim();
  const wanted: Record<string, string> = { "usr/bin/node": process.execPath };
  const add = (to: string, from: string | undefined, needed = true) => {
    if (from && existsSync(from)) wanted[to] = from;
    else if (needed) throw new Error(`the base image needs ${to.split("/").at(-1)}, which is not on this machine`);
  };
  add("usr/bin/helm", programs.helm);
  add("usr/bin/kustomize", programs.kustomize);
  add("usr/bin/jsonnet", programs.jsonnet);
  add("usr/bin/git", which("git"));
  // What delegates run for the kinds terraform.*.
  add("usr/bin/terraform", which("terraform"), false);
  const path = packages.flatMap((unpacked) => unpacked.path).join(":");
  for (const program of FROM_DEBIAN) add(`usr/bin/${program}`, which(program) ?? which(program, path));
  add("usr/bin/sh", which("dash") ?? which("sh"));
  for (const program of SHELL) add(`usr/bin/${program}`, which(program), false);
  for (const part of GIT_PARTS) add(`usr/lib/git-core/${part}`, join(gitParts, part), part === "git-remote-http");
  add("etc/ssl/certs/ca-certificates.crt", "/etc/ssl/certs/ca-certificates.crt");

  const files = new Map(Object.entries(wanted));
  for (const [to, from] of Object.entries(wanted))
    if (!to.startsWith("etc/"))
      for (const library of await libraries(from, packages)) files.set(merged(outOf(packages, library)), library);
  const system = [...files.values()].find((file) => /\/libc\.so\.6$/.test(file));
  for (const name of NAME_SERVICE) {
    const file = system && join(dirname(system), name);
    if (file && existsSync(file)) files.set(merged(file), file);
  }

  const hash = createHash("sha256").update(`form ${FORM}`);
  for (const [to, from] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const { size, mtimeMs } = statSync(from);
    hash.update(JSON.stringify([to, realpathSync(from), size, mtimeMs]));
  }
  return { key: hash.digest("hex").slice(0, 12), fill: (root) => fill(root, files) };
}

/** Paths of the shared libraries a program loads; none for a static one or a script. */
async function libraries(file: string, packages: Unpacked[]): Promise<string[]> {
  const env = { ...process.env, LD_LIBRARY_PATH: packages.flatMap((unpacked) => unpacked.libraries).join(":") };
  return loaded(
    await run("ldd", [file], { env }).then(
      ({ stdout }) => stdout,
      () => "",
    ),
  );
}

/** The path a file would have if its package were installed. */
const outOf = (packages: Unpacked[], file: string) =>
  packages.reduce((path, { dir }) => (path.startsWith(`${dir}/`) ? path.slice(dir.length) : path), file);

/** Absolute paths in what ldd says. */
export function loaded(ldd: string): string[] {
  return [...ldd.matchAll(/(?:=> |^\s+)(\/\S+) \(0x/gm)].map((match) => match[1]!);
}

/** Where a library goes in a file system in which /lib and /bin are links into /usr. */
export function merged(path: string): string {
  return path.replace(/^\/(lib64|lib|bin|sbin)\//, "/usr/$1/").slice(1);
}

async function fill(root: string, files: ReadonlyMap<string, string>): Promise<void> {
  for (const folder of [
    "usr/bin",
    "usr/sbin",
    "usr/lib",
    "usr/lib64",
    "etc",
    "tmp",
    "root",
    "proc",
    "sys",
    "dev",
    "run",
    "var/tmp",
    "app",
  ]) {
    await mkdir(join(root, folder), { recursive: true });
  }
  for (const link of ["bin", "sbin", "lib", "lib64"]) await symlink(`usr/${link}`, join(root, link));
  for (const [to, from] of files) {
    await mkdir(dirname(join(root, to)), { recursive: true });
    await copyFile(realpathSync(from), join(root, to));
    await chmod(join(root, to), to.startsWith("etc/") ? 0o644 : 0o755);
  }
  await symlink("git-remote-http", join(root, "usr/lib/git-core/git-remote-https"));
  for (const name of ["git", "git-upload-pack", "git-receive-pack"])
    await symlink("../../bin/git", join(root, "usr/lib/git-core", name));
  if (existsSync("/usr/share/git-core/templates")) {
    await cp("/usr/share/git-core/templates", join(root, "usr/share/git-core/templates"), {
      recursive: true,
      dereference: true,
    });
  }
  await writeFile(
    join(root, "etc/passwd"),
    "root:x:0:0:root:/root:/bin/sh\noutpost:x:1000:1000:outpost:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
  );
  await writeFile(join(root, "etc/group"), "root:x:0:\noutpost:x:1000:\nnogroup:x:65534:\n");
  await writeFile(join(root, "etc/nsswitch.conf"), "passwd: files\ngroup: files\nhosts: files dns\n");
  for (const folder of ["tmp", "var/tmp"]) await chmod(join(root, folder), 0o1777);
}
