/**
 * Run as root in the task's namespaces: makes a namespace of users with 65,536 of them, and runs the command as its root. A program that
 * builds images needs them, and gets them so without a setuid helper or rows in /etc/subuid.
 *
 *   $1 $2 user and group that its root is outside   $3 first of the others outside   then the command
 *
 * The process that holds the namespace open must not be root outside: the command could take it over.
 */
export const USERS = `set -e
PATH=/usr/sbin:/usr/bin:/sbin:/bin
uid=$1 gid=$2 first=$3
shift 3
before=$(readlink /proc/self/ns/user)
setpriv --reuid="$uid" --regid="$gid" --clear-groups -- unshare --user -- sleep 60 </dev/null >/dev/null 2>&1 &
while now=$(readlink "/proc/$!/ns/user") && [ "$now" = "$before" ]; do :; done
printf '0 %s 1\\n1 %s 65535\\n' "$uid" "$first" > "/proc/$!/uid_map"
printf '0 %s 1\\n1 %s 65535\\n' "$gid" "$first" > "/proc/$!/gid_map"
exec nsenter --user --target "$!" --setuid 0 --setgid 0 -- "$@"`;
