import { type Path, print } from "../value/path.ts";

export interface Diagnostic {
  readonly severity: "error" | "warning";
  readonly summary: string;
  readonly detail: string;
  readonly path?: Path | undefined;
}

/** What a handler has to say to the user. The same thing is said once. */
export class Diagnostics {
  readonly list: Diagnostic[] = [];

  add(found: Diagnostic): void {
    const same = (d: Diagnostic) =>
      d.severity === found.severity &&
      d.summary === found.summary &&
      d.detail === found.detail &&
      print(d.path ?? []) === print(found.path ?? []);
    if (!this.list.some(same)) this.list.push(found);
  }
  error(summary: string, detail: string, path?: Path): void {
    this.add({ severity: "error", summary, detail, path });
  }
  warning(summary: string, detail: string, path?: Path): void {
    this.add({ severity: "warning", summary, detail, path });
  }
  /** A defect of the provider: the user can do nothing but report it. */
  defect(subject: string, detail: string, path?: Path): void {
    this.error("Defect in the provider", `${subject}: ${detail} Please report this.`, path);
  }
  get failed(): boolean {
    return this.list.some((d) => d.severity === "error");
  }
}

/** The text of anything thrown, without a stack: stacks belong into the log. */
export function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause === undefined ? "" : `: ${reason(error.cause)}`;
  return `${error.message}${cause}`;
}
