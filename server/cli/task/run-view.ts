import type { Schemas } from "../../../openapi/client.ts";
import { type Colours, printable } from "../../base/colour.ts";
import { showAge, showDuration } from "../../base/lang/duration.ts";
import { cut, pairs, table } from "../../base/table.ts";
import { type Io, paint } from "../output/io.ts";
import { type Column, field, type Json, plainColumn, state, stateColumn } from "../show.ts";
import { outputs, took } from "./show.ts";

export type Run = Schemas["Run"];
type Step = Run["steps"][number];

const FRAMES = [..."⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"];
const TICK_MS = 120;
const MARKS: Record<Step["state"], string> = {
  Pending: "·",
  Running: "▸",
  Waiting: "?",
  Succeeded: "✓",
  Failed: "✗",
  Skipped: "-",
  Cancelled: "✗",
};

export const runColumns: Column[] = [
  { head: "ID", text: (o, c) => c.bold(field(o, "id")) },
  plainColumn("PIPELINE", "pipeline"),
  stateColumn("STATE", "state"),
  { head: "STEPS", text: (o) => `${o.steps.filter((x: Step) => hasEnded(x)).length}/${o.steps.length}` },
  { head: "AGE", text: (o) => showAge(o.createdAt) },
  {
    head: "TOOK",
    text: (o) => showDuration(Date.parse(o.endedAt ?? new Date().toISOString()) - Date.parse(o.createdAt)),
  },
  plainColumn("BY", "requestedBy"),
  { head: "MESSAGE", text: (o) => field(o, "message") },
];

export const hasEnded = (step: Step): boolean => !["Pending", "Running", "Waiting"].includes(step.state);

/** What a run waits for, in one line. */
export function waitsFor(run: Run): string {
  const now = run.steps.filter((step) => step.state === "Running" || step.state === "Waiting");
  if (now.length === 0) return run.state;
  return now
    .map((step) =>
      step.state === "Waiting"
        ? `${step.id} waits for approval: outpost run approve ${run.id} ${step.id}`
        : `${step.id} runs`,
    )
    .join(", ");
}

/** One line a step: how it is, how long it took, its task, and what it says. */
export function stepLines(run: Run, c: Colours, running = MARKS.Running): string[] {
  const widest = Math.max(...run.steps.map((step) => step.id.length));
  return run.steps.map((step) => {
    const mark = step.state === "Running" ? running : MARKS[step.state];
    const colour = state(step.state, c).replace(printable(step.state), mark);
    const said = step.message ?? (step.state === "Skipped" || step.state === "Failed" ? step.reason : undefined) ?? "";
    const parts = [
      step.id.padEnd(widest),
      state(step.state, c),
      took(step as Json),
      c.dim(step.task ?? ""),
      printable(said).replace(/\s*\n\s*/g, " "),
    ];
    return `${colour} ${parts.filter((part) => part !== "" && part !== "-" && part !== c.dim("")).join("  ")}`;
  });
}

/** A whole run as a person reads it. */
export function describeRun(run: Run, c: Colours): string {
  const told = run as Json;
  const blocks = [
    pairs([
      ["id", c.bold(run.id)],
      ["pipeline", `${printable(run.pipeline)} (generation ${run.generation})`],
      ["state", state(run.state, c)],
      ...(run.reason ? [["reason", field(told, "reason")] as [string, string]] : []),
      ...(run.message ? [["message", field(told, "message")] as [string, string]] : []),
      [
        "started",
        `${run.createdAt} (${showAge(run.createdAt)} ago)${run.requestedBy ? ` by ${printable(run.requestedBy)}` : ""}`,
      ],
      ...(run.endedAt ? [["ended", run.endedAt] as [string, string]] : []),
    ]),
  ];
  if (Object.keys(run.inputs).length) blocks.push(`${c.bold("Inputs")}\n${outputs(run.inputs)}`);
  blocks.push(`${c.bold("Steps")}\n${stepLines(run, c).join("\n")}`);
  const decided = run.steps.flatMap((step) =>
    (step.decisions ?? []).map((d) => [
      step.id,
      state(d.decision, c),
      printable(d.by),
      d.at,
      printable(d.comment ?? ""),
    ]),
  );
  if (decided.length) blocks.push(table(["STEP", "DECISION", "BY", "AT", "COMMENT"].map(c.bold), decided));
  for (const step of run.steps.filter((x) => x.outputs && Object.keys(x.outputs).length))
    blocks.push(`${c.bold(`Outputs of ${step.id}`)}\n${outputs(step.outputs!)}`);
  return blocks.join("\n\n");
}

/**
 * A run while it is followed. On a terminal its steps are redrawn in place; elsewhere, and beside logs, a line is written for each
 * step that changes.
 */
export class RunView {
  readonly #io: Io;
  readonly #redraw: boolean;
  readonly #told = new Map<string, string>();
  #run: Run | undefined;
  #lines = 0;
  #frame = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(io: Io, redraw: boolean) {
    this.#io = io;
    this.#redraw = redraw && io.err.isTTY;
    if (this.#redraw) this.#timer = setInterval(() => this.#draw(), TICK_MS);
    this.#timer?.unref();
  }

  show(run: Run): void {
    this.#run = run;
    if (this.#redraw) {
      this.#draw();
      return;
    }
    const lines = stepLines(run, paint(this.#io, this.#io.err));
    for (const [i, step] of run.steps.entries()) {
      const now = `${step.state} ${step.decisions?.length ?? 0}`;
      if (this.#told.get(step.id) === now || (step.state === "Pending" && !this.#told.has(step.id))) continue;
      this.#told.set(step.id, now);
      this.#io.err.write(`${lines[i]}\n`);
    }
  }

  /** The last picture stays; nothing moves any more. */
  end(): void {
    if (this.#timer && this.#run) this.#draw();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #draw(): void {
    if (!this.#run) return;
    const lines = stepLines(this.#run, paint(this.#io, this.#io.err), FRAMES[this.#frame++ % FRAMES.length]!);
    const width = this.#io.err.columns ?? 80;
    const up = this.#lines > 0 ? `\u001b[${this.#lines}A` : "";
    this.#io.err.write(`${up}${lines.map((line) => `\r${cut(line, width)}\u001b[K\n`).join("")}`);
    this.#lines = lines.length;
  }
}
