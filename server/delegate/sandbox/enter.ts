/**
 * Run by the first process in new namespaces. It puts the task's view together on the stage (its own folder and what is shown), lays that
 * over the delegate's folder, closes what is hidden, and waits for the command: whatever this leaves running, the kernel ends with it.
 *
 * Memory, locks and queues that programs share end with it too. An earlier command of the attempt may have put a link in the place of its
 * tmp: a mount would follow it out of the task's view, so the folder is entered and looked at first.
 *
 *   $1 cover  $2 the attempt's folder  $3 stage  $4 where to start  $5 `proc` in a namespace of processes  $6 `tmp` for an own /tmp
 *   then what is shown, --, what is hidden, --, the command
 */
export const ENTER = `set -e
PATH=/usr/sbin:/usr/bin:/sbin:/bin
cover=$1 keep=$2 stage=$3 cwd=$4 tmp=$6
[ "$5" = "" ] || mount -t proc -o nosuid,nodev,noexec proc /proc
shift 6
mount -t tmpfs -o mode=0755,size=4m outpost "$stage"
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
for shared in /dev/shm /run/lock; do
  [ ! -d "$shared" ] || mount -t tmpfs -o mode=1777,size=64m,nosuid,nodev outpost "$shared"
done
[ ! -d /dev/mqueue ] || mount -t mqueue mqueue /dev/mqueue 2>/dev/null || mount -t tmpfs -o mode=1777,size=4k outpost /dev/mqueue
cd "$cwd"
( exec "$@" )
exit $?`;
