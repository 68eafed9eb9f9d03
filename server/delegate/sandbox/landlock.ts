import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/**
 * Landlock has no program of its own in most distributions, and Node no such call; Perl, which every Debian has, can make it. The rules
 * are `rx:path`, `rw:path` and one `filter:` (`seccomp.ts`) up to `--`; everything else of the file system is closed then to the command and
 * all that it starts, and so are the memory, environment, signals and abstract sockets (the last two from Linux 6.12) of every process
 * outside. With `scope:` files stay as they are, and an older kernel is no error.
 */
export const LANDLOCK = `use strict;
my $abi = syscall(444, 0, 0, 1);
my $scope = $ARGV[0] eq "scope:" ? shift : "";
$scope or $abi >= 1 or die "Landlock is not there: $!\\n";
my $fs = $scope ? 0 : $abi >= 5 ? 0xffff : $abi >= 3 ? 0x7fff : $abi >= 2 ? 0x3fff : 0x1fff;
my $attr = $abi >= 6 ? pack("QQQ", $fs, 0, 3) : $abi >= 4 ? pack("QQ", $fs, 0) : pack("Q", $fs);
my $set = $scope && $abi < 6 ? undef : syscall(444, $attr, length $attr, 0);
!defined $set or $set >= 0 or die "Landlock: $!\\n";
my @filter;
while (@ARGV) {
  my $rule = shift;
  last if $rule eq "--";
  my ($how, $path) = split /:/, $rule, 2;
  if ($how eq "filter") { @filter = split /:/, $path; next }
  sysopen(my $fh, $path, 0x200000) or next;
  my $mask = $how eq "rw" ? $fs : 1 | 4 | 8;
  $mask &= 1 | 2 | 4 | 0x4000 | 0x8000 unless -d $path;
  my $beneath = pack("Ql", $mask & $fs, fileno $fh);
  syscall(445, $set, 1, $beneath, 0) == 0 or die "Landlock: $path: $!\\n";
}
!defined $set or syscall(446, $set, 0) == 0 or die "Landlock: $!\\n";
if (@filter) {
  my $steps = pack "H*", $filter[1];
  my $program = pack "Sx6P", length($steps) / 8, $steps;
  # EINVAL and ENOSYS: a kernel without filters. The probe says then what is open.
  syscall($filter[0], 1, 0, $program) == 0 or $! == 22 or $! == 38 or die "seccomp: $!\\n";
}
exec { $ARGV[0] } @ARGV or die "$ARGV[0]: $!\\n";`;

/**
 * Devices guard themselves. Files of /proc do not: who runs as the delegate's user may write there by which process the kernel finds memory
 * (oom_score_adj), and the priority of a whole session (autogroup). Folders of /dev that every user may write to (shm, mqueue) hold no
 * devices: what one task leaves there, the next one finds.
 */
const DEVICES = "/dev";
function forDevices(path: string): "rx" | "rw" {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat?.isDirectory() && (stat.mode & 0o002) !== 0 ? "rx" : "rw";
}

/** Rules that open everything but these paths. Landlock knows no exceptions, so that the folders on the way to each are opened piece by piece. */
export function rulesWithout(closed: readonly string[], root = "/"): string[] {
  const rules: string[] = [];
  for (const name of list(root)) {
    const path = join(root, name);
    if (closed.includes(path)) continue;
    if (closed.some((other) => other.startsWith(`${path}/`))) rules.push(...rulesWithout(closed, path));
    else if (root === DEVICES) rules.push(`${forDevices(path)}:${path}`);
    else rules.push(`rx:${path}`, ...(path === DEVICES ? rulesWithout(closed, path) : []));
  }
  return rules;
}

// A link needs no rule: what it leads to has one, or is closed.
function list(dir: string): string[] {
  try {
    return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => (entry.isSymbolicLink() ? [] : [entry.name]));
  } catch {
    return [];
  }
}
