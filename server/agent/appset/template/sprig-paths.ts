import semver from "semver";
import { type Callable, fn } from "./function.ts";
import { Opaque, TemplateError, type Value } from "./value.ts";

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
  readonly parsed: semver.SemVer;
  readonly original: string;

  constructor(text: string) {
    super();
    const found = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$/.exec(text);
    const parsed = found && semver.parse(`${found[1]}.${found[2] ?? 0}.${found[3] ?? 0}${found[4] ?? ""}${found[5] ?? ""}`);
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

/** `>=1.2, <2 || ~3`: as here, but with commas, and a version before a release only where the range names one. */
function satisfies(range: string, version: string): boolean {
  const parsed = new Version(version).parsed;
  return range.split("||").some((one) => {
    const parts = one
      .replaceAll(",", " ")
      .replace(/(?<!\s)\s+-\s+/g, "..")
      .replace(/(=>|=<|[<>]=?|!=|=|~>?|\^)\s+/g, "$1")
      .trim()
      .split(/\s+/)
      .map((part) => part.replace("..", " - ").replace("=>", ">=").replace("=<", "<="));
    return parts.every((part) => {
      const negated = part.startsWith("!=");
      const text = negated ? part.slice(2) : part;
      if (text !== "" && semver.validRange(text) === null) throw new TemplateError(`improper constraint: ${range}`);
      const includePrerelease = parsed.prerelease.length > 0 && /-[0-9A-Za-z]/.test(part);
      if (negated && parsed.prerelease.length > 0 && !includePrerelease) return false;
      return semver.satisfies(parsed, text, { includePrerelease }) !== negated;
    });
  });
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
