import { SemVer } from "semver";

/** A condition on versions: `>=1.2`, with what is left open. */
interface Condition {
  sign: string;
  at: SemVer;
  /** The first part that is not given or is an x: nothing, the minor and the patch, or the patch. */
  open: "all" | "minor" | "patch" | undefined;
}

const PLAIN = String.raw`v?([0-9xX*]+)(?:\.([0-9xX*]+))?(?:\.([0-9xX*]+))?(-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?`;
const SIGN = "=>|=<|>=|<=|!=|~>|[=<>~^]|";
const CONDITION = new RegExp(String.raw`(${SIGN})\s*${PLAIN}`, "y");
const HYPHEN = new RegExp(String.raw`(?<![^\s,|])(${PLAIN})\s+-\s+(${PLAIN})(?![^\s,|])`, "g");
const LOOSE =
  /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/;
const MAX_LENGTH = 256;

/** `v1.2` and `1` are versions, too, as the ecosystem's Go library reads them. */
export function parseVersion(text: string): SemVer | undefined {
  const found = text.length <= MAX_LENGTH ? LOOSE.exec(text) : null;
  return found ? version(found[1]!, [found[2], found[3]], `${found[4] ?? ""}${found[5] ?? ""}`) : undefined;
}

function version(major: string, [minor, patch]: (string | undefined)[], rest = ""): SemVer | undefined {
  try {
    return new SemVer(`${major}.${minor ?? 0}.${patch ?? 0}${rest}`);
  } catch {
    return undefined;
  }
}

/**
 * A range as the ecosystem's Go library reads it: `,` and blanks are and, `||` is or, `1.2 - 2` is from and to, `1.x` and `1` leave parts open. A
 * version before a release is only in a group of conditions of which one names such a version. Undefined when it is no range.
 */
export function parseVersionRange(range: string): ((version: SemVer) => boolean) | undefined {
  if (range.length > MAX_LENGTH) return undefined;
  const groups = range
    .split("||")
    .map((text) => conditions(text.replace(HYPHEN, (whole) => `>=${whole.replace(/\s+-\s+/, ", <=")}`)));
  if (groups.includes(undefined)) return undefined;
  return (version) =>
    groups.some((group) => {
      const early = group!.some(({ at }) => at.prerelease.length > 0);
      return (early || version.prerelease.length === 0) && group!.every((condition) => meets(version, condition));
    });
}

function conditions(text: string): Condition[] | undefined {
  const found: Condition[] = [];
  let rest = text.trim();
  if (rest === "") return [{ sign: "", at: new SemVer("0.0.0"), open: "all" }];
  while (rest) {
    CONDITION.lastIndex = 0;
    const match = CONDITION.exec(rest);
    const condition = match && conditionOf(match);
    if (!condition) return undefined;
    found.push(condition);
    rest = rest.slice(match[0].length);
    if (rest && !/^(\s+|\s*,\s*)(?=\S)/.test(rest)) return undefined;
    rest = rest.replace(/^(\s*,\s*|\s+)/, "");
  }
  return found;
}

function conditionOf([, sign = "", major = "", minor, patch, early = ""]: RegExpExecArray): Condition | undefined {
  const isOpen = (part: string | undefined) => part === undefined || /^[xX*]$/.test(part);
  const at = (open: Condition["open"], parts: (string | undefined)[]): Condition | undefined => {
    const parsed = version(parts[0]!, parts.slice(1), early);
    return parsed && { sign, at: parsed, open };
  };
  if (isOpen(major)) return at("all", ["0"]);
  if (isOpen(minor)) return at("minor", [major]);
  return isOpen(patch) ? at("patch", [major, minor]) : at(undefined, [major, minor, patch]);
}

/** Where parts are open `>1` means from 2, and `<=1` before 2. */
function meets(version: SemVer, { sign, at, open }: Condition): boolean {
  const order = version.compare(at);
  const [sameMajor, sameMinor] = [version.major === at.major, version.minor === at.minor];
  switch (sign) {
    case "!=":
      if (open === "minor") return !sameMajor;
      if (open === "patch") return !sameMajor || !sameMinor || version.comparePre(at) !== 0;
      return order !== 0;
    case ">":
      if (open === "minor") return version.major > at.major;
      if (open === "patch") return sameMajor ? version.minor > at.minor : version.major > at.major;
      return order > 0;
    case "<":
      return order < 0;
    case ">=":
    case "=>":
      return order >= 0;
    case "<=":
    case "=<":
      if (!open) return order <= 0;
      return version.major < at.major || (sameMajor && (open === "minor" || version.minor <= at.minor));
    case "^":
      return order >= 0 && compatible(version, { at, open });
    case "":
    case "=":
      return open ? near(version, { at, open }) : order === 0;
    default:
      return near(version, { at, open });
  }
}

/** `~1.2`: the same minor, or the same major where no minor is given. */
function near(version: SemVer, { at, open }: Pick<Condition, "at" | "open">): boolean {
  if (version.compare(at) < 0) return false;
  const any = at.major === 0 && at.minor === 0 && at.patch === 0 && open !== "minor" && open !== "patch";
  return any || (version.major === at.major && (version.minor === at.minor || open === "minor"));
}

/** `^1.2`: the first part that is not nothing stays. */
function compatible(version: SemVer, { at, open }: Pick<Condition, "at" | "open">): boolean {
  if (version.major !== at.major) return false;
  if (at.major > 0 || open === "minor") return true;
  if (version.minor !== at.minor) return false;
  return at.minor > 0 || open === "patch" || version.patch === at.patch;
}
