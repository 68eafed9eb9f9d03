import type { ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import type { Duplex } from "node:stream";

/** Number of the system call prctl by Node's name of the processor. */
const PRCTL: Partial<Record<NodeJS.Architecture, number>> = {
  x64: 157,
  arm64: 167,
  ia32: 172,
  arm: 172,
  ppc64: 171,
  s390x: 172,
  riscv64: 167,
};
const PERL = ["/usr/bin/perl", "/bin/perl"];

/**
 * The first process of each command. The kernel hands it every descendant whose parent has ended, so no descendant gets away: not by a
 * session of its own, not by a cleared environment, not by a double fork. When the command ends, or the pipe to the delegate closes, it
 * kills all that is left and says how the command ended only when the kernel says that it has no children.
 *
 * It runs outside the sandbox, with an environment of its own, and other programs of its user cannot trace it or read its memory.
 * It looks for processes through files that it opened at its start: a task that could take its files away (RLIMIT_NOFILE) would blind it
 * otherwise. When it sees no process although the kernel reports children, it kills the group, and never reports that none are left.
 *
 * Its first input is the command: the length, then the texts of arguments and variables. A byte after that means: kill everything.
 */
export const SUPERVISOR = `use strict; no warnings;
my $prctl = shift;
$prctl == 0 or syscall($prctl, 36, 1, 0, 0, 0) == 0 or die "there is no child subreaper: $!\\n";
$prctl == 0 or syscall($prctl, 4, 0, 0, 0, 0);
$SIG{$_} = "IGNORE" for qw(TERM INT HUP QUIT USR1 USR2 ALRM PIPE TSTP TTIN TTOU);
$SIG{CHLD} = sub {};
open my $control, "+<&=", 3 or die "no pipe to the delegate\\n";
my ($head, $frame) = ("", "");
while ($head !~ /\\n/) { sysread($control, $head, 1, length $head) or exit 0 }
while (length $frame < $head) { sysread($control, $frame, $head - length $frame, length $frame) or exit 0 }
my ($count, @texts) = split /\\0/, $frame, -1;
my @command = splice @texts, 0, $count;
my $self = $$;
my ($list, $folder);
open $list, "<", "/proc/$self/task/$self/children" or undef $list;
opendir $folder, "/proc" or undef $folder;
my $main = fork;
defined $main or die "no process could be started: $!\\n";
if (!$main) {
  syscall($prctl, 1, 9, 0, 0, 0) if $prctl;
  exit 0 if getppid != $self;
  close $control;
  setpgrp 0, 0;
  setpriority 0, 0, 10;
  $SIG{$_} = "DEFAULT" for keys %SIG;
  %ENV = map { /^([^=]+)=(.*)$/s ? ($1, $2) : () } @texts;
  exec { $command[0] } @command or print STDERR "$command[0]: $!\\n";
  exit 127;
}
open STDIN, "<", "/dev/null";
open STDOUT, ">", "/dev/null";
open STDERR, ">", "/dev/null";
my ($status, $kill, $said, $since, $round) = (0, 0, 0, 0, 0);
sub list {
  my ($text, $part) = ("", "");
  return undef unless $list and defined sysseek($list, 0, 0);
  while (1) {
    my $got = sysread $list, $part, 65536;
    return undef unless defined $got;
    return [split / /, $text] unless $got;
    $text .= $part;
  }
}
sub below {
  my %of;
  return undef unless $folder;
  rewinddir $folder;
  my @pids = grep /^\\d+$/, readdir $folder or return undef;
  for my $pid (@pids) {
    if (open my $stat, "<", "/proc/$pid/stat") { (<$stat> // "") =~ /^(\\d+) .*\\) \\S (\\d+) /s and push @{$of{$2}}, $1 }
    elsif ($! != 2 && $! != 3 && $! != 13) { return undef }
  }
  my @found = @{$of{$self} // []};
  for (my $i = 0; $i < @found; $i++) { push @found, @{$of{$found[$i]} // []} }
  return \\@found;
}
sub report_end {
  return if $said++;
  my $code = $status & 127 ? 128 + ($status & 127) : $status >> 8;
  syswrite $control, "$code $_[0]\\n";
}
while (1) {
  my $pid;
  while (($pid = waitpid -1, 1) > 0) { ($status, $kill) = ($?, 1) if $pid == $main }
  if ($pid == -1 && $! == 10) { report_end(0); exit 0 }
  if ($kill) {
    $since ||= time;
    my $left = ($round++ % 16 && list()) || below() || list();
    if ($left) { kill 9, @$left } else { kill 9, -$main }
    report_end($left && @$left || 1) if time - $since > 5;
  }
  my $bits = "";
  vec($bits, 3, 1) = 1 if $control;
  my $wait = !$kill ? 0.25 : $round < 200 ? 0.0005 : 0.02;
  if (select($bits, undef, undef, $wait) > 0) {
    my $got = sysread $control, my $byte, 1;
    $kill = 1;
    if (!$got) { close $control; $control = undef; $said = 1 }
  }
}`;

export interface Supervisor {
  file: string;
  args: readonly string[];
}

/** The program that supervises commands here; undefined where there is none: then only marks and groups identify a task's processes. */
export function findSupervisor(): Supervisor | undefined {
  const number = process.platform === "linux" ? PRCTL[process.arch] : undefined;
  const perl = PERL.find((path) => existsSync(path));
  return number && perl ? { file: perl, args: ["-e", SUPERVISOR, String(number)] } : undefined;
}

/** What a supervisor says at the end. */
export interface Farewell {
  code: number;
  /** Processes that the kernel has not given up yet. */
  left: number;
}

/** The delegate's end of the pipe to one supervisor. */
export class Control {
  readonly #pipe: Duplex;
  #text = "";
  /** How the command ended; undefined when the supervisor itself was ended. */
  readonly ended: Promise<Farewell | undefined>;

  constructor(child: ChildProcess) {
    this.#pipe = child.stdio[3] as unknown as Duplex;
    this.#pipe.on("error", () => {});
    this.ended = new Promise((resolve) => {
      this.#pipe.on("data", (bytes: Buffer) => {
        this.#text += bytes.toString("latin1");
        const found = /^(\d+) (\d+)\n/.exec(this.#text);
        if (found) resolve({ code: Number(found[1]), left: Number(found[2]) });
      });
      // What it said may still be in the pipe when its exit is known.
      child.once("close", () => resolve(undefined));
      this.#pipe.once("close", () => resolve(undefined));
      child.once("error", () => resolve(undefined));
    });
  }

  /** The command with all of its environment. Neither is visible in a command line or the supervisor's environment. */
  start(command: readonly string[], env: Record<string, string>): void {
    const texts = [
      String(command.length),
      ...command,
      ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
    ];
    const frame = Buffer.from(texts.join("\0"));
    this.#pipe.write(`${frame.length}\n`);
    this.#pipe.write(frame);
  }

  kill(): void {
    if (this.#pipe.writable) this.#pipe.write("K");
  }

  close(): void {
    this.#pipe.destroy();
  }
}
