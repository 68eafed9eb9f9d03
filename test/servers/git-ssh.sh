#!/bin/sh
# The command sshd runs for every login: git's two services, inside ROOT, and of the named repositories only (all, if none is named).
root=$1
shift
case $SSH_ORIGINAL_COMMAND in
"git-upload-pack '"*"'") verb=upload-pack ;;
"git-receive-pack '"*"'") verb=receive-pack ;;
*) echo "only git is served here" >&2 && exit 1 ;;
esac
path=${SSH_ORIGINAL_COMMAND#*\'}
path=${path%\'}
path=${path#/}
name=${path%.git}
case $name in
*[!A-Za-z0-9._/-]* | *..* | "") echo "no such repository" >&2 && exit 1 ;;
esac
if [ $# -gt 0 ]; then
  for allowed; do [ "$allowed" = "$name" ] && found=1; done
  [ "$found" ] || { echo "this key may not read $name" >&2 && exit 1; }
fi
exec git "$verb" "$root/$name.git"
