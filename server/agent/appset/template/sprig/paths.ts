import type { SemVer } from "semver";
import { parseVersion, parseVersionRange } from "../../../../base/lang/version-range.ts";
import { type Callable, fn } from "../function.ts";
import { Opaque, TemplateError, type Value } from "../value.ts";

/** Go's path.Clean. */
export function clean(path: string): string {
  const rooted = path.startsWith("/");
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.length && parts.at(-1) !== "..") parts.pop();
    else if (!rooted) parts.push("..");
  }
  return `${rooted ? "/" : ""}${parts.join("/")}` || ".";
}

/** Go's path.Base. */
export function base(path: string): string {
  if (path === "") return ".";
  const trimmed = path.replace(/(?<!\/)\/+$/, "");
  return trimmed === "" ? "/" : trimmed.slice(trimmed.lastIndexOf("/") + 1);
}

/** Go's path.Dir. */
export const dir = (path: string): string => clean(path.slice(0, path.lastIndexOf("/") + 1));

const ext = (path: string) => /\.[^./]*$/.exec(path)?.[0] ?? "";

class Version extends Opaque {
  readonly type = "*semver.Version";
  readonly parsed: SemVer;
  readonly original: string;

  constructor(text: string) {
    super();
    const parsed = parseVersion(text);
    if (!parsed) throw new TemplateError("invalid semantic version");
    this.parsed = parsed;
    this.original = text;
  }

  toString(): string {
    const { build, version } = this.parsed;
    return build.length ? `${version}+${build.join(".")}` : version;
  }

  override member(name: string): Value {
    const { major, minor, patch, prerelease, build } = this.parsed;
    if (name === "Major") return BigInt(major);
    if (name === "Minor") return BigInt(minor);
    if (name === "Patch") return BigInt(patch);
    if (name === "Prerelease") return prerelease.join(".");
    if (name === "Metadata") return build.join(".");
    if (name === "Original") return this.original;
    return name === "String" ? this.toString() : undefined;
  }
}

function satisfies(range: string, version: string): boolean {
  const test = parseVersionRange(range);
  if (!test) throw new TemplateError(`improper constraint: ${range}`);
  return test(new Version(version).parsed);
}

const isAbs = fn("s", ([path]) => path.startsWith("/"));
const one = (run: (path: string) => string) => fn("s", ([path]) => run(path));

export const PATHS: Record<string, Callable> = {
  base: one(base),
  dir: one(dir),
  clean: one(clean),
  ext: one(ext),
  isAbs,
  osBase: one(base),
  osDir: one(dir),
  osClean: one(clean),
  osExt: one(ext),
  osIsAbs: isAbs,
  semver: fn("s", ([text]) => new Version(text)),
  semverCompare: fn("ss", ([range, version]) => satisfies(range, version)),
};
