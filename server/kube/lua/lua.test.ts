import { within } from "../../../test/within.ts";
import { LUA, Lua } from "./lua.ts";

// As long as the slowest machine needs for the scripts here; the product gives them a second.
const lua = new Lua({ timeoutMs: 2_000 });
afterAll(() => lua.close());

const cases: [string, { given: string; globals?: Record<string, unknown>; want: unknown }][] = [
  [
    "a table comes back as an object",
    { given: `return { status = "Healthy", message = "ok" }`, want: { status: "Healthy", message: "ok" } },
  ],
  ["an object is a table", { given: "return obj.a.b[2]", globals: { obj: { a: { b: ["x", "y"] } } }, want: "y" }],
  [
    "null is nil",
    { given: "return obj.a == nil and obj.list ~= nil", globals: { obj: { a: null, list: [] } }, want: true },
  ],
  ["numbers are counted from 1", { given: "return #obj.l .. obj.l[1]", globals: { obj: { l: [7, 8] } }, want: "27" }],
  [
    "table.getn, unpack and loadstring of 5.1",
    { given: `return table.getn({1,2}) + select("#", unpack({1,2,3})) + loadstring("return 1")()`, want: 6 },
  ],
  ["a quotient reads like an integer", { given: "return tostring(6 / 2)", want: "3" }],
  [
    "the clock of os is there",
    { given: `return os.date("!%Y", 0) .. require("os").time({year=1970,month=1,day=2,hour=0})`, want: "197086400" },
  ],
  ["nothing comes back as nothing", { given: "local x = 1", want: undefined }],
];
test.each(cases)("%s", async (_, { given, globals = {}, want }) => {
  expect(await lua.run(given, globals)).toEqual({ kind: "done", value: want });
});

const refused: [string, { given: string; want: RegExp }][] = [
  ["no files", { given: `return io.open("/etc/passwd")`, want: /io/ }],
  ["no processes", { given: `return os.execute("id")`, want: /execute/ }],
  ["no environment", { given: `return os.getenv("HOME")`, want: /getenv/ }],
  ["no other code", { given: `return require("socket")`, want: /not available to scripts/ }],
  ["no loadfile", { given: `return loadfile("/etc/passwd")`, want: /loadfile/ }],
  ["no byte code", { given: `return load(string.dump(function() return 1 end))()`, want: /./ }],
  ["no debugger", { given: "return debug.getregistry()", want: /debug/ }],
  ["a syntax error has its line", { given: "return (", want: /:1:/ }],
  ["an error has its words", { given: `error("no such thing")`, want: /no such thing/ }],
  ["more memory than allowed", { given: `return #("x"):rep(100 * 1024 * 1024)`, want: /memory/ }],
];
test.each(refused)("a script that wants too much fails alone: %s", async (_, { given, want }) => {
  const outcome = await lua.run(given, {});
  expect(outcome).toMatchObject({ kind: "stop", message: expect.stringMatching(want) });
  expect(await lua.run("return 1", {})).toEqual({ kind: "done", value: 1 });
});

const endless: [string, string][] = [
  ["a loop", "while true do end"],
  ["a loop that catches its errors", "while true do pcall(function() while true do end end) end"],
  ["a pattern without end", `return string.find(("a"):rep(400), ("a*"):rep(40) .. "b")`],
];
test.each(endless)(
  "a script that does not end is ended, is not tried again at once, and holds up nobody: %s",
  async (_, script) => {
    const [slow, next] = await Promise.all([lua.run(script, {}), lua.run("return 2", {})]);
    expect(slow).toMatchObject({ kind: "stop", reason: LUA.slow });
    expect(next).toEqual({ kind: "done", value: 2 });
    const before = performance.now();
    expect(await lua.run(script, {})).toMatchObject({ reason: LUA.slow });
    expect(performance.now() - before).toBeLessThan(within(500));
  },
);

test("one script does not see what another left behind", async () => {
  await lua.run("leak = 1; string.rep = nil", {});
  expect(await lua.run(`return tostring(leak) .. ("x"):rep(2)`, {})).toEqual({ kind: "done", value: "nilxx" });
});
