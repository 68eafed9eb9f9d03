import { type World, world } from "../world.ts";

let w: World;
beforeAll(async () => {
  w = await world();
});

test("a script runs on the delegate, and its output and its end come back", async () => {
  const ran = await w.cli("task", "run", "shell.run", "--script", 'echo "from $(uname -s)"; echo "to stderr" >&2', "--follow");
  expect([ran.exit, ran.out, ran.err]).toEqual([0, "from Linux\n", expect.stringContaining("to stderr")]);
});

test("a script that fails exits 1 here too", async () => {
  const ran = await w.cli("task", "run", "shell.run", "--script", "exit 7", "--follow");
  expect([ran.exit, ran.err]).toEqual([1, expect.stringMatching(/ended as Failed.*7/)]);
});

test("a task that no delegate may take says why", async () => {
  const queued = await w.cli("task", "run", "shell.run", "--script", "true", "--selectors", "nobody-has-this");
  const id = queued.out.trim();
  const { out } = await w.cli("task", "get", id, "-o", "json");
  expect(JSON.parse(out)).toMatchObject({
    state: "Queued",
    explanation: expect.arrayContaining([expect.objectContaining({ reason: expect.any(String) })]),
  });
  expect((await w.cli("task", "cancel", id)).exit).toBe(0);
});
