import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

interface Package {
  version: string;
  integrity?: string;
  link?: boolean;
  optional?: boolean;
  inBundle?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
}
const file = fileURLToPath(new URL("../../package-lock.json", import.meta.url));
const { packages } = JSON.parse(readFileSync(file, "utf8")) as { packages: Record<string, Package> };
const all = Object.entries(packages).filter(([path]) => path !== "");

/** Tools of development whose builds for other machines were not in the registry that the lock was made with. */
const BUILDS = /^node_modules\/(@biomejs\/cli|@swc\/core|@unrs\/resolver-binding)-[a-z0-9-]+$/;

test("every package is installed by its digest, except what stands inside another one, and builds of three tools for other machines", () => {
  const open = all.filter(([, one]) => !one.integrity && !one.inBundle && !one.link);
  expect(open.filter(([path]) => !BUILDS.test(path))).toEqual([]);
  // Never one that CI or the image installs: these have glibc on Linux x64.
  expect(open.filter(([, { optional }]) => optional !== true)).toEqual([]);
  expect(open.filter(([path]) => /-linux-x64(-gnu)?$/.test(path))).toEqual([]);
  // The list may only get shorter.
  expect(open.length).toBeLessThanOrEqual(33);
});

test("what stands inside another package is covered by that one's digest", () => {
  for (const [path, { inBundle }] of all.filter(([, one]) => one.inBundle)) {
    const outer = all.find(([other, one]) => !one.inBundle && path.startsWith(`${other}/node_modules/`));
    expect([path, inBundle, outer?.[1].integrity !== undefined]).toEqual([path, true, true]);
  }
});

test("digests are SHA-512, and every package has an exact version", () => {
  const weak = all.filter(
    ([, { integrity, version, link }]) => !link && (!/^\d+\.\d+\.\d+/.test(version) || (integrity && !/^sha512-/.test(integrity))),
  );
  expect(weak.map(([path, { integrity }]) => [path, integrity])).toEqual([]);
});
