import { colours, printable } from "../../base/colour.ts";
import type { Check } from "./check.ts";

/** For people: one line a finding, and at the end the layer that failed. */
export function show(checks: readonly Check[], colour: boolean): string {
  const c = colours(colour);
  const paint = { ok: c.green, warn: c.yellow, fail: c.red, skipped: c.dim };
  const width = Math.max(...checks.map(({ layer }) => layer.length));
  const lines = checks.map(({ layer, state, message }, i) => {
    const name = checks[i - 1]?.layer === layer ? "" : layer;
    const text = printable(message);
    return `${c.bold(name.padEnd(width))}  ${paint[state](state.padEnd(7))}  ${state === "skipped" ? c.dim(text) : text}`;
  });
  const failed = checks.filter(({ state }) => state === "fail");
  const warned = checks.filter(({ state }) => state === "warn").length;
  const end = failed.length
    ? c.red(`fails at: ${[...new Set(failed.map(({ layer }) => layer))].join(", ")}`)
    : c.green(`this delegate can work${warned ? c.yellow(` (${warned} warning${warned > 1 ? "s" : ""})`) : ""}`);
  return `${[...lines, "", end].join("\n")}\n`;
}
