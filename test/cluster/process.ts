import { readFileSync } from "node:fs";

/** A process named so that a later one with the same number is not mistaken for it. */
export interface Owner {
  pid: number;
  /** Start time in clock ticks since boot. */
  started: string;
}

/** The process with this number, or undefined when there is none (one that ended and was not collected does not count). */
export function owner(pid: number): Owner | undefined {
  const fields = stat(pid);
  return fields && fields[0] !== "Z" ? { pid, started: fields[19]! } : undefined;
}

/** Whether it is the same process that still runs. */
export const alive = ({ pid, started }: Owner): boolean => owner(pid)?.started === started;

/** The first child of a process. */
export function childOf(pid: number): number | undefined {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    return children ? Number(children.split(" ")[0]) : undefined;
  } catch {
    return undefined;
  }
}

/** Fields of /proc/PID/stat from the state on; the name before it may itself hold spaces and brackets. */
function stat(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}
