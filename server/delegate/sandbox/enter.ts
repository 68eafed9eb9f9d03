/**
 * Run by the first process in new namespaces. It builds the task's view in a staging folder (its own folder and visible ones), mounts that
 * over the delegate's folder, closes hidden folders, and waits for the command: the kernel ends all processes that are left.
 *
 * Memory, locks and queues that programs share end with it too. An earlier command of the attempt may have put a link in the place of its
 * tmp: a mount would follow it out of the task's view, so the folder is entered and looked at first.
 *
 *   $1 cover  $2 the attempt's folder  $3 stage  $4 where to start  $5 /proc: `own`, or `closed` where the machine's is shown  $6 `tmp` for an own /tmp
 *   $7 other folders that every user may write to
 *   then visible folders, --, hidden folders, --, the command
 */
export const ENTER = `set -e
PATH=/usr/sbin:/usr/bin:/sbin:/bin
cover=$1 keep=$2 stage=$3 cwd=$4 tmp=$6 places=$7
[ "$5" = closed ] || mount -t proc -o nosuid,nodev,noexec proc /proc
proc=$5
shift 7
mount -t tmpfs -o mode=0755,size=4m outpost "$stage"
if [ "$proc" = closed ]; then
  mkfifo -m 600 "$stage/entered" "$stage/closed"
  exec 8<> "$stage/entered" 9<> "$stage/closed"
  rm "$stage/entered" "$stage/closed"
fi
at() { printf '%s' "$stage\${1#"$cover"}"; }
mkdir -p "$(at "$keep")"
mount --bind "$keep" "$(at "$keep")"
while [ "$1" != -- ]; do
  to=$(at "$1")
  if [ -d "$1" ]; then mkdir -p "$to"; else mkdir -p "\${to%/*}"; : > "$to"; fi
  mount --bind "$1" "$to"
  mount -o remount,bind,ro "$to" 2>/dev/null || mount -o remount,bind,ro,nosuid,nodev "$to"
  shift
done
shift
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mount -t tmpfs -o mode=0755,size=4k outpost "$1"; elif [ -e "$1" ]; then mount --bind /dev/null "$1"; fi
  shift
done
shift
mount --rbind "$stage" "$cover"
if [ "$tmp" != "" ]; then
  cd -P "$keep"
  own=$(pwd -P)/tmp
  cd -P "$own"
  [ "$(pwd -P)" = "$own" ] || { echo "the task has replaced its tmp folder" >&2; exit 126; }
  mount --bind . /tmp
  [ ! -d /var/tmp ] || mount --bind . /var/tmp
fi
for shared in $places; do
  [ ! -d "$shared" ] || mount -t tmpfs -o mode=1777,size=64m,nosuid,nodev outpost "$shared"
done
[ ! -d /dev/mqueue ] || mount -t mqueue mqueue /dev/mqueue 2>/dev/null || mount -t tmpfs -o mode=1777,size=4k outpost /dev/mqueue
cd "$cwd"
if [ "$proc" = closed ]; then
  ( read -r _ <&8; mount --rbind /proc /proc && mount -o remount,bind,ro,nosuid,nodev,noexec /proc && echo yes >&9 || echo no >&9 ) &
fi
( exec "$@" )
exit $?`;

/**
 * Where the machine's /proc is shown, it is closed to writing: files there belong to the user of a process, whatever else is closed. A task
 * of that user could have the kernel end the delegate first when memory runs out (oom_score_adj), or take processor time from it. It is
 * closed when the task's namespace of users is there, which is made by writing to /proc.
 */
export const WHEN_CLOSED: readonly string[] = [
  ...["/bin/sh", "-c"],
  'echo >&8; read -r closed <&9; [ "$closed" = yes ] || { echo "/proc could not be closed to writing" >&2; exit 126; }; exec 8>&- 9>&-; exec "$@"',
  "sh",
];
