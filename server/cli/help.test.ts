import type { Command } from "commander";
import { outpost } from "./command.ts";
import type { Io } from "./output/io.ts";
import { person } from "./testing.ts";

const io = { env: {}, out: { write() {}, isTTY: false }, err: { write() {}, isTTY: false } } as unknown as Io;
const below = (command: Command): Command[] => [command, ...command.commands.flatMap(below)];
const all = below(outpost(io)).filter((command) => command.name() !== "__complete");
const nameOf = (command: Command): string =>
  [...(command.parent ? [nameOf(command.parent)] : []), command.name()].join(" ");

test("every command says in a sentence what it does", () => {
  expect(all.filter((command) => !/^.{8,}[.!?]$/s.test(command.description())).map(nameOf)).toEqual([]);
});

test("every command that takes --no-wait takes --wait", () => {
  const has = (command: Command, long: string) => command.options.some((option) => option.long === long);
  expect(all.filter((command) => has(command, "--no-wait") && !has(command, "--wait")).map(nameOf)).toEqual([]);
});

test("every time on the command line is a duration", () => {
  const odd = all.flatMap((command) =>
    command.options
      .filter(({ long, flags }) => long === "--timeout" && !flags.includes("<duration>"))
      .map(() => nameOf(command)),
  );
  expect(odd).toEqual([]);
});

test("defaults are stated, and `spec.` in front of --set is meant as in a file", async () => {
  const me = person(() => ({ body: {} }));
  expect((await me.types("agent", "create", "--help")).out).toMatch(
    /--namespace <text>[\s\S]*?\(default:\s+outpost-agent\)/,
  );
  await me.types("app", "set", "web", "--set", "spec.source.path=x", "--set", "source.targetRevision=main");
  expect(me.requests.at(-1)!.body).toEqual({ spec: { source: { path: "x", targetRevision: "main" } } });
});
