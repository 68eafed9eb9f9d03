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

test("every package is installed by its digest, builds for other machines too, except what stands inside another one", () => {
  const open = all.filter(([, one]) => !one.integrity && !one.inBundle && !one.link);
  expect(open.map(([path]) => path)).toEqual([]);
});

test("what stands inside another package is covered by that one's digest", () => {
  for (const [path, { inBundle }] of all.filter(([, one]) => one.inBundle)) {
    const outer = all.find(([other, one]) => !one.inBundle && path.startsWith(`${other}/node_modules/`));
    expect([path, inBundle, outer?.[1].integrity !== undefined]).toEqual([path, true, true]);
  }
});

test("digests are SHA-512, and every package has an exact version", () => {
  const weak = all.filter(
    ([, { integrity, version, link }]) =>
      !link && (!/^\d+\.\d+\.\d+/.test(version) || (integrity && !/^sha512-/.test(integrity))),
  );
  expect(weak.map(([path, { integrity }]) => [path, integrity])).toEqual([]);
});
