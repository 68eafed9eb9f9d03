import { spawn } from "node:child_process";
import { constants, release } from "node:os";
import { findSupervisor } from "./supervisor.ts";

/**
 * The parent of a delegate. A task that runs as the delegate's own user may end its supervisor; what it runs then becomes a child of
 * this process, which kills every child but the delegate. It also reaps what Node does not, ends the delegate when it is ended itself,
 * and passes signals on. Other programs of its user cannot trace it.
 */
export const KEEPER = `use strict; no warnings;
my $prctl = shift;
syscall($prctl, 36, 1, 0, 0, 0) == 0 or die "there is no child subreaper: $!\\n";
syscall($prctl, 4, 0, 0, 0, 0);
syscall($prctl, 1, 9, 0, 0, 0);
my $self = $$;
open my $list, "<", "/proc/$self/task/$self/children" or print STDERR "outpost delegate: children cannot be listed, tasks may leave processes: $!\\n";
sub children {
  my ($text, $part) = ("", "");
  defined sysseek($list, 0, 0) or return undef;
  while (1) {
    my $got = sysread $list, $part, 65536;
    return undef unless defined $got;
    return split / /, $text unless $got;
    $text .= $part;
  }
}
my $main = fork;
defined $main or die "the delegate could not be started: $!\\n";
if (!$main) {
  syscall($prctl, 1, 9, 0, 0, 0);
  exit 0 if getppid != $self;
  $ENV{OUTPOST_KEEPER} = $self;
  exec { $ARGV[0] } @ARGV or exit 127;
}
$SIG{$_} = sub { kill $_[0], $main } for qw(TERM INT HUP QUIT USR1 USR2);
my ($status, $over, $rounds) = (0, 0, 0);
while (1) {
  my $pid;
  while (($pid = waitpid -1, 1) > 0) { ($status, $over) = ($?, 1) if $pid == $main }
  last if $over && $pid == -1 && $! == 10;
  if ($over && $rounds++ > 8000) { print STDERR "outpost delegate: processes of tasks could not be ended\\n"; exit 1 }
  my @strays = grep { defined && ($_ != $main || $over) } children();
  kill 9, @strays;
  select undef, undef, undef, $over || @strays ? 0.0005 : 0.1;
}
exit($status & 127 ? 128 + ($status & 127) : $status >> 8);`;

/** The process that keeps this delegate; undefined without one. */
export function keeperOf(env: NodeJS.ProcessEnv = process.env): number | undefined {
  return env.OUTPOST_KEEPER !== undefined && Number(env.OUTPOST_KEEPER) === process.ppid ? process.ppid : undefined;
}

/** From this version on Landlock blocks signals to processes outside. */
const SCOPED_SIGNALS = [6, 12] as const;
/** Where `sandbox/seccomp.ts` closes bounds of other processes; elsewhere a task may end its supervisor with RLIMIT_CPU. */
const FILTERED = new Set<NodeJS.Architecture>(["x64", "arm64"]);

/**
 * Whether tasks may be able to end their supervisors here: they run as the delegate's user, and neither a namespace of processes nor
 * Landlock is sure to keep their signals inside.
 */
export function needsKeeper(env: NodeJS.ProcessEnv, kernel = release(), root = process.getuid?.() === 0): boolean {
  if (env.OUTPOST_SANDBOX === "off") return true;
  const [major = 0, minor = 0] = kernel.split(".").map(Number);
  return (
    !root &&
    (major < SCOPED_SIGNALS[0] ||
      (major === SCOPED_SIGNALS[0] && minor < SCOPED_SIGNALS[1]) ||
      !FILTERED.has(process.arch))
  );
}

/** Starts this very program again below a keeper and gives its exit code; undefined where it has one, needs none, or none can be had. */
export async function startKept(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<number | undefined> {
  const supervisor = findSupervisor();
  if (!supervisor || keeperOf(env) !== undefined || !needsKeeper(env)) return undefined;
  const [flag, , number] = supervisor.args;
  const own = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  // A session of its own: Ctrl-C reaches only this process, which passes it on once.
  const kept = spawn(supervisor.file, [flag!, KEEPER, number!, ...own], { env, stdio: "inherit", detached: true });
  const leave = () => void kept.kill("SIGTERM");
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  return new Promise((resolve) => {
    kept.once("error", () => resolve(undefined));
    kept.once("exit", (code, killed) => resolve(code ?? 128 + constants.signals[killed!]));
  });
}
