import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { readJson } from "../../base/json/nesting.ts";
import { SUITES } from "./evaluators.ts";
import { closeRender } from "./render.ts";

/** A question may hold a large object; more is no question. */
const MAX_LINE = 16 * 1024 * 1024;

export const suiteNames = (): string[] => Object.keys(SUITES).sort();

/** Answers each line of JSON with a line of JSON, in order. A line that cannot be answered gets `error`. */
export async function* evalLines(suite: string, input: Readable): AsyncGenerator<string> {
  const answer = SUITES[suite]!;
  try {
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      if (line.trim() === "") continue;
      yield `${JSON.stringify(await answerOne(answer, line))}\n`;
    }
  } finally {
    await closeRender();
  }
}

async function answerOne(answer: (input: unknown) => unknown, line: string): Promise<unknown> {
  if (line.length > MAX_LINE) return { error: "the question is longer than 16 MiB" };
  try {
    return await answer(readJson(line));
  } catch (error) {
    return { error: (error as Error).message };
  }
}
