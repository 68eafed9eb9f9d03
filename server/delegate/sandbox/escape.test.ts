import { jest } from "@jest/globals";
import { hostile, publicFolder, WAYS_HERE } from "../testing/jail.ts";

/** Daemons that try to outlive their task, in every way that this system has and without a sandbox. */
jest.setTimeout(150_000);
const dir = publicFolder();

// Each trick starts what follows it, in its own way. `orphan` forks twice, and both parents end. `memfd` runs a shell that no folder has (319 is
// memfd_create on x64; elsewhere it starts what follows as it is).
const TRICKS: Record<string, string> = {
  setsid: 'exec setsid "$@"',
  bare: 'exec env -i "$@"',
  orphan: '( ( "$@" & ) & ) </dev/null >/dev/null 2>&1',
  deaf: 'trap "" TERM INT HUP; exec "$@"',
  self: 'exec /proc/self/exe -c "exec \\"\\$@\\"" sh "$@"',
  memfd: `exec perl -e '$name = "x"; $fd = syscall(319, $name, 0); open($to, ">&=", $fd); open($from, "<", "/bin/sh"); binmode $_ for $to, $from; local $/; print {$to} readline($from); $to->flush; exec {"/proc/self/fd/$fd"} "sh", "-c", "exec \\"\\$@\\"", "sh", @ARGV; exec @ARGV' "$@"`,
  third: '( ( ( ( "$@" & ) & ) & ) & ) </dev/null >/dev/null 2>&1; kill -KILL $$',
};
const names = Object.keys(TRICKS);
const sets = [
  ...names.map((name) => [name]),
  ...names.flatMap((a) => names.flatMap((b) => (a === b ? [] : [[a, b]]))),
  ["deaf", "setsid", "bare", "orphan"],
  ["orphan", "deaf", "bare", "setsid", "third", "bare"],
];
const script = (name: string, body: string) => `cat > tricks/${name} <<'END'\n#!/bin/sh\n${body}\nEND\n`;
const START = `
mkdir tricks
${names.map((name) => script(name, TRICKS[name]!)).join("")}
${script("live", ': > "$2/started-$3"\nwhile :; do sleep 5; done')}
# Never the same process twice: each generation starts the next and ends.
${script("runner", ': > "$2/started-$3"\nsetsid env -i "$0" "$@" </dev/null >/dev/null 2>&1 &')}
chmod +x tricks/*
here=$PWD
daemon() { name=$1; shift; "$@" "$here/tricks/live" "$TOKEN" "$here" "$name" </dev/null >/dev/null 2>&1 & }
${sets.map((set, i) => `daemon ${i} ${set.map((trick) => `"$here/tricks/${trick}"`).join(" ")}`).join("\n")}
"$here/tricks/runner" "$TOKEN" "$here" runner
for name in ${sets.map((_, i) => i).join(" ")} runner; do
  until [ -e "$here/started-$name" ]; do sleep 0.02; done
done
supervisors() {
  for one in /proc/[0-9]*; do
    grep -aq "sub farewel[l]" "$one/cmdline" 2>/dev/null && echo "\${one#/proc/}"
  done
}
`;
const ENDS: [string, string, Record<string, string>][] = [
  ["the command ends", "echo ready; exit 3", {}],
  [
    "the command is cancelled and ignores it",
    'trap "" TERM; echo ready; while :; do sleep 1; done',
    { HOSTILE_CANCEL: "true" },
  ],
  ["the supervisor is stopped", "kill -STOP $(supervisors) 2>/dev/null; echo ready; exit 3", {}],
  [
    "the supervisor is stopped again and again, and the command is cancelled",
    'victims=$(supervisors); trap "" TERM; echo ready; while :; do kill -STOP $victims 2>/dev/null; sleep 0.01; done',
    { HOSTILE_CANCEL: "true" },
  ],
  ["the supervisor is killed", "kill -KILL $(supervisors) 2>/dev/null; sleep 1; exit 3", {}],
];
const cases = [...WAYS_HERE, "none"].flatMap((way) => ENDS.map(([name, end, more]) => [way, name, end, more] as const));

test.each(cases)("%s: no daemon is left when %s, in all pairs of tricks", async (way, _name, end, more) => {
  const token = `escape-${process.pid}-${Math.random().toString(36).slice(2)}`;
  const got = await hostile(dir, way, START + end, {
    ...more,
    HOSTILE_TOKEN: token,
    HOSTILE_PROCESSES: "400",
    ...(way === "none" ? { HOSTILE_KEPT: "true" } : {}),
  });
  expect([got.level, got.escaped, got.left]).toEqual([way, [], 0]);
  if (end.includes("ready")) expect(got.lines.at(-1)).toBe("ready");
});
