import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { Lua } from "../../server/kube/lua/lua.ts";
import { within } from "../within.ts";

/**
 * Expressions of users: each ends by itself within a second and 64 MiB, or is refused by name. They run in a process whose memory is bounded: one
 * that takes more ends it.
 */
const MAX_MS = 1_500;
const HEAP_MIB = 64;
// What the modules themselves and the loader of TypeScript take.
const OWN_MIB = 96;

type Said = { id: number; said: string; ms: number };
let child: ChildProcess | undefined;
let next = 0;
const waiting = new Map<number, (said: Said) => void>();

async function start(): Promise<ChildProcess> {
  const file = fileURLToPath(new URL("./expressions-process.ts", import.meta.url));
  const execArgv = ["--import", "tsx", `--max-old-space-size=${OWN_MIB + HEAP_MIB}`];
  const made = fork(file, [], { execArgv, stdio: ["ignore", "ignore", "ignore", "ipc"] });
  const ready = new Promise<Said>((resolve) => waiting.set(0, resolve));
  made.on("message", (said: Said) => waiting.get(said.id)?.(said));
  made.on("exit", () => {
    if (child === made) child = undefined;
    for (const [id, tell] of waiting) tell({ id, said: "DIED", ms: 0 });
  });
  await ready;
  return made;
}

async function evaluate(kind: string, expression: string, input: unknown): Promise<Said> {
  child ??= await start();
  const id = ++next;
  const mine = child;
  let timer: NodeJS.Timeout | undefined;
  const said = await new Promise<Said>((resolve) => {
    waiting.set(id, resolve);
    mine.send({ id, kind, expression, input });
    timer = setTimeout(() => resolve({ id, said: "HANGS", ms: 0 }), 60_000);
  });
  clearTimeout(timer);
  waiting.delete(id);
  if (said.said === "HANGS") {
    child = undefined;
    mine.kill("SIGKILL");
  }
  return said;
}
afterAll(() => void child?.kill("SIGKILL"));

const wide = { a: Array.from({ length: 2_000 }, (_, i) => ({ n: i, s: "a".repeat(50) })) };
const as = `${"a".repeat(50)}!`;
const long = "x".repeat(100_000);
const JQ: [string, RegExp][] = [
  ["[..|..|..|..]", /slow|paths/],
  [".. | .. | .. | .. | ..", /slow/],
  ['.a[] | select(.s | test("(a+)+$"))', /paths|slow/],
  ['.a[] | select(.s | test("^(a|aa)+!$"))', /paths|slow/],
  ["def f: f; f", /slow/],
  ["def f(g): f(g | g); f(.)", /slow/],
  ["def f(g): [g, g] | f(f(g)); f(.)", /slow/],
  ["def f: [., .] | f; f", /slow/],
  ["[.a | combinations(9)]", /slow/],
  ["null | .[1e9] = 1", /slow/],
  [".a[] |= 1 | [.. |= .] | [.. |= .]", /.+/],
  ["[range(1e5)] | .[] |= . + 1", /slow/],
  ["reduce range(1e5) as $i (.; .a[$i].b.c = $i)", /slow/],
  ["[tostream], [tostream], [tostream] | [tostream]", /.+/],
  ['[.a[].s | gsub("a*"; "aa")] | map(gsub(""; "aaaa")) | map(gsub(""; "aaaa"))', /.+/],
  ['[range(1e5) | tostring | test("[0-9]")]', /slow/],
  ['[.a[] | .s | scan("(a+)+$")]', /.+/],
  [". as [[$a]] ?// [$a] ?// $a | [limit(9e9; repeat($a))]", /slow/],
  ["repeat(.)", /.+/],
  ["[range(1e12)]", /.+/],
  ["recurse(.a)", /.+/],
  ["limit(1e12; repeat(1))", /.+/],
  [`${".a | ".repeat(20_000)}.a`, /.+/],
  [`${"(".repeat(20_000)}.${")".repeat(20_000)}`, /.+/],
  [`.a${"[]?".repeat(5_000)}`, /.+/],
  [`[${"..,".repeat(2_000)}..]`, /.+/],
  ['.a[] | .s | split("") | join("a") | split("") | join("a") | length', /.+/],
  [
    '[.a[].s] | join("x") | [., ., ., .] | join("x") | [., ., ., .] | join("x") | [., ., ., .] | join("x") | [.,.,.,.] | join("x") | [.,.,.,.] | join("x") | [.,.,.,.] | join("x") | [.,.,.,.] | join("x")',
    /.+/,
  ],
  ["[.a[].s] | tostring | tojson | tojson | tojson", /.+/],
  ["map(map(map(map(..))))", /.+/],
  ['.a[] | select(.s | test("a" * 900000))', /.+/],
  ["reduce range(60) as $i ([1]; . + .)", /slow/],
  ['reduce range(60) as $i ("x"; . + .)', /slow/],
  ['reduce range(60) as $i ("x"; "\\(.)\\(.)")', /slow/],
  ["reduce range(40) as $i ([1]; [., .]) | tojson", /slow/],
  ["reduce range(40) as $i ({}; {a: ., b: .}) | tojson", /slow/],
  ["reduce range(1e5) as $i ([]; . + [$i])", /slow/],
  ["[range(1000) | [range(900)] + [.]] as $a | $a - ($a | map(map(. + 1)))", /slow|paths/],
  ["[range(800) | [range(1000)] + [.]] | . - map([range(1000)] + [.[-1] + 1e6])", /slow/],
  ["[range(1000) | [range(900)]] | contains([[range(1; 900)] + [1e6]])", /slow|paths/],
  ["[range(3e5)] | group_by(. % 2)", /.+/],
  ["[range(2e3) | [.]] + [[range(1e5)]] | transpose", /slow/],
  ['"x" * 400000 | [., ., .] | join(.)', /slow/],
  ["until(false; [., .])", /slow/],
  ["walk(walk(walk(walk(.))))", /slow|paths/],
  [`. as ${"[".repeat(300)}$a${"]".repeat(300)} | $a`, /.+/],
  [`"${'\\("'.repeat(200)}${'")'.repeat(200)}"`, /.+/],
];
const TEMPLATES: [string, RegExp][] = [
  ["{{ range $i := until 1000000000 }}x{{ end }}", /^refused: /],
  ["{{ range $i := until 10000 }}{{ range $j := until 10000 }}{{ end }}{{ end }}", /^refused: /],
  ['{{ repeat 1000000000 "x" }}', /^refused: /],
  ['{{ "x" | repeat 1000000 | repeat 1000 }}', /^refused: /],
  ['{{ printf "%1000000000d" 1 }}', /^refused: /],
  ['{{ printf "%.1000000000f" 1.0 }}', /^refused: /],
  ['{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}', /^refused: /],
  ['{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}', /^refused: /],
  [`{{ regexMatch "(a+)+$" "${as}" }}`, /^refused: /],
  [`{{ range until 1000 }}{{ regexMatch "(a+)+$" "${as}" }}{{ end }}`, /^refused: /],
  [`{{ regexReplaceAll "(a|aa)+$" "${as}" "x" }}`, /^refused: /],
  ['{{ $x := "x" }}{{ range until 40 }}{{ $x = print $x $x }}{{ end }}', /^refused: /],
  ["{{ $x := list 1 }}{{ range until 40 }}{{ $x = concat $x $x }}{{ end }}", /^refused: /],
  ["{{ $x := list 1 }}{{ range until 40 }}{{ $x = list $x $x }}{{ end }}{{ $x | toJson }}", /^refused: /],
  ['{{ $x := dict "a" 1 }}{{ range until 40 }}{{ $x = dict "a" $x "b" $x }}{{ end }}{{ toYaml $x }}', /^refused: /],
  ['{{ $x := dict "a" 1 }}{{ range until 30 }}{{ $x = dict "a" $x "b" $x }}{{ end }}{{ deepCopy $x }}', /^refused: /],
  ['{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ toJson $d }}', /^refused: /],
  ['{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $d }}', /^refused: /],
  ["{{ seq 1 1000000000 }}", /^refused: /],
  ["{{ untilStep 0 1000000000 1 }}", /^refused: /],
  ['{{ indent 100000000 "x" }}', /^refused: /],
  ['{{ nospace (repeat 1000000 " ") | len }}', /^(refused: |\d)/],
  ['{{ wrap 1 (repeat 900000 "x ") }}', /.+/],
  ['{{ range until 200 }}{{ genPrivateKey "rsa" }}{{ end }}', /^refused: /],
  ['{{ range until 200 }}{{ htpasswd "a" "b" }}{{ end }}', /^refused: /],
  ['{{ range until 200 }}{{ derivePassword 1 "long" "a" "b" "c" }}{{ end }}', /^refused: /],
  ['{{ range until 200 }}{{ genCA "a" 365 }}{{ end }}', /^refused: /],
  ['{{ "9999999999e9999999999" | float64 }}{{ mul 9e300 9e300 }}', /.+/],
  [`${"{{ if true }}".repeat(20_000)}${"{{ end }}".repeat(20_000)}`, /^refused: /],
  [`{{ ${"(".repeat(20_000)}1${")".repeat(20_000)} }}`, /^refused: /],
  [`{{ fromJson "${"[".repeat(50_000)}" }}`, /.+/],
  ['{{ date (repeat 900000 "1") "x" }}', /^refused: /],
  ['{{ toDate (repeat 900000 "a") "x" }}', /^refused: /],
  ['{{ fromYaml (repeat 900000 "{") }}', /^refused: /],
  ['{{ trimAll "/" (printf "a%sb" (repeat 900000 "/")) | len }}', /^\d/],
  ['{{ trimAll (repeat 400000 "ab") "abc" }}', /^1 char/],
  ['{{ osBase (printf "a%sb" (repeat 900000 "/")) | len }}', /^\d/],
  ['{{ snakecase (repeat 900000 "A") | len }}', /^\d/],
  ['{{ b64dec (printf "a%sb" (repeat 900000 "=")) | len }}', /.+/],
  ['{{ semverCompare (printf "1%sx" (repeat 900000 " ")) "1.0.0" }}', /.+/],
  [
    `{{ fromYaml "a: &a [1]\\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]" }}`,
    /.+/,
  ],
  ["{{ randAlphaNum 1000000000 }}", /^refused: /],
  ['{{ semverCompare (repeat 100000 "1.") "1.0.0" }}', /.+/],
  ['{{ splitList "" (repeat 1000000 "x") | len }}', /.+/],
  ['{{ sortAlpha (splitList "" (repeat 1000000 "x")) | len }}', /.+/],
  ['{{ shuffle (repeat 1000000 "x") | len }}', /.+/],
  ['{{ regexFindAll "x" (repeat 1000000 "x") -1 | len }}', /^refused: /],
  ['{{ replace "x" (repeat 1000 "y") (repeat 100000 "x") | len }}', /^refused: /],
  ['{{ kebabcase (repeat 900000 "aB") | len }}', /.+/],
  ['{{ levenshtein "a" "b" }}', /.+/],
  ['{{ env "PATH" }}', /^refused: /],
  ['{{ getHostByName "localhost" }}', /^refused: /],
];
const REGEX: [string, string, RegExp][] = [
  ["(a+)+$", as, /^refused: .*takes too long/],
  ["(a|aa)+$", as, /^refused: .*takes too long/],
  ["(.*a){25}$", "a".repeat(60), /.+/],
  ["(x+x+)+y", long, /^refused: .*takes too long/],
  ["(?:(?:(?:a*)*)*)*b", as, /.+/],
  [`${"(".repeat(5_000)}a${")".repeat(5_000)}`, as, /.+/],
  ["a{0,1000}{0,1000}{0,1000}", as, /.+/],
  ["(?<=a)b", "ab", /^refused: /],
  ["(a)\\1", "aa", /^refused: /],
  ["[", "a", /^refused: /],
  ["x".repeat(20_000), long, /^refused: /],
];
const PATTERNS: [string, string, RegExp][] = [
  ["(a+)+$", as, /slow/],
  ["(a|aa)+$", as, /slow/],
  ["(x+x+)+y", long, /slow/],
  ["[", "a", /invalid/],
  ["${process.exit()}", "a", /false|invalid/],
];
const GLOBS: [string, string][] = [
  ["*a*a*a*a*a*a*a*a*b", "a".repeat(20_000)],
  ["**/".repeat(500), "a/".repeat(2_000)],
  ["{a,b}".repeat(60), "a".repeat(60)],
  [`${"{".repeat(5_000)}a${"}".repeat(5_000)}`, "a"],
  [`{${`{${"a,".repeat(300)}b},`.repeat(100)}c}{${"d,".repeat(300)}e}`, "ad"],
  [`{${"{a,b},".repeat(400)}c}`.repeat(4), "a"],
  ["?".repeat(20_000), "a".repeat(20_000)],
  [`[${"a-z".repeat(5_000)}]`.repeat(10), "b".repeat(10)],
  ["*".repeat(10_000), "a".repeat(10_000)],
  ["*a".repeat(2_000), "a".repeat(20_000)],
];

const shown = (text: string) => (text.length > 70 ? `${text.slice(0, 60)}… (${text.length})` : text);
const table = (kind: string, cases: [string, unknown, RegExp][]) =>
  cases.map(([expression, input, want]) => ({ kind, shown: shown(expression), expression, input, want }));
test.each([
  ...table(
    "jq",
    JQ.map(([expression, want]) => [expression, wide, want]),
  ),
  ...table(
    "template",
    TEMPLATES.map(([expression, want]) => [expression, { s: as }, want]),
  ),
  ...table("regex", REGEX),
  ...table("pattern", PATTERNS),
  ...table(
    "glob",
    GLOBS.map(([expression, input]) => [expression, input, /^(true|false)$/]),
  ),
  ...table(
    "path",
    GLOBS.map(([expression, input]) => [expression, input, /^(true|false|refused: .*)$/]),
  ),
])("$kind: $shown", async ({ kind, expression, input, want }) => {
  const { said, ms } = await evaluate(kind, expression, input);
  expect(said).toMatch(want);
  expect(said).not.toMatch(/^(DIED|HANGS)/);
  expect(ms).toBeLessThan(within(MAX_MS));
});

test.each([
  ["a loop without an end", "while true do end", /ScriptTimeout/],
  [
    "memory without an end",
    "local t = {} while true do t[#t+1] = string.rep('x', 100000) end",
    /ScriptFailed.*memory|ScriptTimeout/,
  ],
  ["one text of a gigabyte", "return string.rep('x', 1000000000)", /ScriptFailed|ScriptTimeout/],
  [
    "a pattern that goes back for ever",
    `return string.find(string.rep('a', 60), '${"a*".repeat(20)}b')`,
    /ScriptTimeout/,
  ],
  ["a call without an end", "local function f() return f() + 1 end return f()", /Script/],
  ["a coroutine without an end", "local c = coroutine.wrap(function() while true do end end) return c()", /Script/],
  ["a loop that catches its end", "while true do pcall(function() while true do end end) end", /ScriptTimeout/],
])("lua: %s", async (_, script, want) => {
  const lua = new Lua();
  const before = process.memoryUsage.rss();
  try {
    await lua.run("return {status = 'ok'}", {});
    const got = await lua.run(script, {});
    expect(got.kind === "done" ? "done" : `${got.reason} ${got.message}`).toMatch(want);
    expect(await lua.run("return 1", {})).toEqual({ kind: "done", value: 1 });
    expect((process.memoryUsage.rss() - before) / 2 ** 20).toBeLessThan(256);
  } finally {
    await lua.close();
  }
});
