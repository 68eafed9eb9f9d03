#!/bin/sh
# Installs an Outpost delegate on this machine, in one folder of its own. Run it again to upgrade it or to change its settings.
set -eu

# SETTINGS

usage() {
  cat <<'END'
Usage: sh install.sh --from FILE|FOLDER|URL [options]     install, or upgrade
       sh install.sh [options]                            other settings, same program
       sh install.sh --uninstall [--prefix DIR]           remove everything

  --from FILE|FOLDER|URL  the program: outpost.mjs and chunks/, in a folder or a .tar.gz. The image has them in /app.
  --sha256 HEX            digest of the .tar.gz; required with a URL
  --token-file FILE       enrolment token, `-` for standard input; or in the environment as DELEGATE_TOKEN
  --prefix DIR            default: /opt/NAME as root, else ~/.local/share/NAME
  --user NAME             user to run as, when root installs; default: one that is made for it
  --node PATH             Node.js 20.19 or newer; default: the one on the PATH
  --listen HOST:PORT      probes and metrics; default 127.0.0.1:3460. A second delegate on a machine needs another port.
  --no-start              leave it stopped
END
}
say() { printf '%s\n' "$*"; }
fail() {
  printf 'install: %s\n' "$*" >&2
  exit 1
}

FROM='' SHA256='' TOKEN_FILE='' PREFIX='' RUN_AS='' NODE='' LISTEN='' START=yes UNINSTALL=''
while [ $# -gt 0 ]; do
  case $1 in
    --no-start) START='' ;;
    --uninstall) UNINSTALL=yes ;;
    --help | -h)
      usage
      exit 0
      ;;
    --from | --sha256 | --token-file | --prefix | --user | --node | --listen)
      [ $# -ge 2 ] || fail "$1 takes a value"
      case $1 in
        --from) FROM=$2 ;;
        --sha256) SHA256=$2 ;;
        --token-file) TOKEN_FILE=$2 ;;
        --prefix) PREFIX=$2 ;;
        --user) RUN_AS=$2 ;;
        --node) NODE=$2 ;;
        --listen) LISTEN=$2 ;;
      esac
      shift
      ;;
    *) fail "there is no option $1; --help tells those there are" ;;
  esac
  shift
done

ROOT=''
[ "$(id -u)" -ne 0 ] || ROOT=yes
[ -n "$ROOT" ] || [ -z "$RUN_AS" ] || fail "only root can install for another user: leave --user out"
if [ -z "$PREFIX" ]; then
  if [ -n "$ROOT" ]; then PREFIX=/opt/$NAME; else PREFIX=${XDG_DATA_HOME:-$HOME/.local/share}/$NAME; fi
fi
# It stands in a unit file and in scripts.
case $PREFIX in
  *[!A-Za-z0-9._/-]* | *..* | [!/]* | /) fail "--prefix is an absolute path of letters, digits, dots, dashes and slashes; it is $PREFIX" ;;
esac
MARK=$PREFIX/.installed
UNIT=/etc/systemd/system/$NAME.service
SYSTEMD=''
if [ -n "$ROOT" ] && [ -d /run/systemd/system ] && command -v systemctl > /dev/null; then SYSTEMD=yes; fi

stop_it() {
  if [ -n "$SYSTEMD" ] && [ -f "$UNIT" ]; then systemctl stop "$NAME.service"; fi
  if [ -x "$PREFIX/bin/stop" ]; then "$PREFIX/bin/stop"; fi
}

if [ -n "$UNINSTALL" ]; then
  # Only what this script has made is removed.
  [ "$(cat "$MARK" 2> /dev/null)" = "$NAME" ] || fail "$PREFIX is no installation of $NAME; give its folder by --prefix"
  stop_it
  if [ -n "$SYSTEMD" ] && [ -f "$UNIT" ]; then
    systemctl disable "$NAME.service"
    rm -f "$UNIT"
    systemctl daemon-reload
  fi
  made=$(cat "$PREFIX/etc/made-user" 2> /dev/null || true)
  # Tasks may have left folders that even their owner cannot write to.
  chmod -R u+rwX "$PREFIX"
  rm -rf "$PREFIX"
  if [ -n "$made" ]; then userdel "$made"; fi
  say "$NAME is removed. Its tokens can be revoked in the service."
  exit 0
fi

# What it stands on.
[ "$(uname -s)" = Linux ] || fail "this installer is for Linux, this is $(uname -s)"
case $(uname -m) in
  x86_64 | amd64 | aarch64 | arm64) ;;
  *) fail "there is no delegate for $(uname -m): it runs on x86_64 and arm64" ;;
esac
[ -n "$NODE" ] || NODE=$(command -v node) || fail "Node.js is not on the PATH: install version 20.19 or newer, or give --node PATH"
case $NODE in
  *[!A-Za-z0-9._/+-]* | [!/]*) fail "--node is an absolute path without spaces; it is $NODE" ;;
esac
"$NODE" -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' \
  || fail "$NODE is $("$NODE" --version 2> /dev/null || echo 'no Node.js'); version 20.19 or newer is needed"
if [ -e "$PREFIX" ] && [ "$(cat "$MARK" 2> /dev/null)" != "$NAME" ] && [ -n "$(ls -A "$PREFIX")" ]; then
  fail "$PREFIX has other files in it: give an empty folder by --prefix"
fi
[ -n "$FROM" ] || [ -f "$PREFIX/app/outpost.mjs" ] || fail "--from is needed: the program as FILE, FOLDER or URL (--help)"

# The token: in these settings, a file or the environment; else the one of the last installation.
if [ "$TOKEN_FILE" = - ]; then TOKEN=$(cat); elif [ -n "$TOKEN_FILE" ]; then TOKEN=$(cat "$TOKEN_FILE"); fi
[ -n "$TOKEN" ] || TOKEN=${DELEGATE_TOKEN:-}
[ -n "$TOKEN" ] || TOKEN=$(sed -n 's/^DELEGATE_TOKEN=//p' "$PREFIX/etc/delegate.env" 2> /dev/null || true)
[ -n "$TOKEN" ] || fail "the enrolment token is missing: give --token-file FILE"
case $TOKEN in
  *[!A-Za-z0-9._-]*) fail "the enrolment token has characters that no token has" ;;
esac
[ -n "$LISTEN" ] || LISTEN=$(sed -n 's/^OUTPOST_LISTEN=//p' "$PREFIX/etc/delegate.env" 2> /dev/null || true)
LISTEN=${LISTEN:-127.0.0.1:3460}

# Its user.
if [ -n "$ROOT" ]; then
  [ -n "$RUN_AS" ] || RUN_AS=$(cat "$PREFIX/etc/user" 2> /dev/null || echo "$OWN_USER")
  MADE=$(cat "$PREFIX/etc/made-user" 2> /dev/null || true)
  if ! id -u "$RUN_AS" > /dev/null 2>&1; then
    useradd --system --user-group --no-create-home --home-dir "$PREFIX/work" --shell /usr/sbin/nologin "$RUN_AS"
    MADE=$RUN_AS
  fi
  GROUP=$(id -gn "$RUN_AS")
  if command -v setpriv > /dev/null; then
    DROP="setpriv --reuid=$RUN_AS --regid=$GROUP --init-groups --no-new-privs --inh-caps=-all --bounding-set=-all"
  elif command -v runuser > /dev/null; then
    DROP="runuser -u $RUN_AS --"
  else
    fail "setpriv or runuser is needed to run as $RUN_AS: install util-linux"
  fi
else
  RUN_AS=$(id -un) GROUP=$(id -gn) DROP='' MADE=''
fi
# Never through a link: some of these folders are its user's.
own() { [ -z "$ROOT" ] || chown -h "$RUN_AS:$GROUP" "$@"; }

umask 022
mkdir -p "$PREFIX/bin" "$PREFIX/etc" "$PREFIX/work" "$PREFIX/tools/bin" "$PREFIX/run" "$PREFIX/log"
printf '%s\n' "$NAME" > "$MARK"
printf '%s\n' "$RUN_AS" > "$PREFIX/etc/user"
if [ -n "$MADE" ]; then printf '%s\n' "$MADE" > "$PREFIX/etc/made-user"; fi
own "$PREFIX/work" "$PREFIX/tools" "$PREFIX/tools/bin" "$PREFIX/run" "$PREFIX/log"
chmod 0700 "$PREFIX/work" "$PREFIX/log"
# shellcheck disable=SC2086 # several words
$DROP "$NODE" --version > /dev/null || fail "the user $RUN_AS cannot run $NODE: give a Node.js that it can reach by --node"

if [ -n "$CA" ]; then printf '%s\n' "$CA" > "$PREFIX/etc/ca.crt"; else rm -f "$PREFIX/etc/ca.crt"; fi

# The program, beside the old one until it is known to work.
rm -rf "$PREFIX/app.new" "$PREFIX/app.tar.gz"
download() {
  [ -n "$SHA256" ] || fail "--sha256 is needed with a URL: what comes over the network is checked before it is run"
  printf '%s\n' "$ENVIRONMENT" > "$PREFIX/etc/settings"
  while IFS= read -r line; do
    case $line in HTTPS_PROXY=*) export "$line" "http_proxy=${line#*=}" ;; NO_PROXY=*) export "$line" ;; esac
  done < "$PREFIX/etc/settings"
  rm -f "$PREFIX/etc/settings"
  roots=''
  if [ -n "$CA" ]; then
    roots=$PREFIX/etc/roots.pem
    cat /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt "$PREFIX/etc/ca.crt" > "$roots" 2> /dev/null || true
  fi
  if command -v curl > /dev/null; then
    curl --fail --silent --show-error --location --max-time 600 ${roots:+--cacert "$roots"} --output "$2" -- "$1" || fail "$1 cannot be downloaded"
  elif command -v wget > /dev/null; then
    wget --quiet --timeout=600 ${roots:+--ca-certificate="$roots"} --output-document="$2" -- "$1" || fail "$1 cannot be downloaded"
  else
    fail "curl or wget is needed to download $1; or give a file by --from"
  fi
  rm -f "$PREFIX/etc/roots.pem"
}
if [ -n "$FROM" ]; then
  mkdir "$PREFIX/app.new"
  archive=$FROM
  case $FROM in
    http://* | https://*)
      archive=$PREFIX/app.tar.gz
      download "$FROM" "$archive"
      ;;
  esac
  if [ -d "$FROM" ]; then
    [ -z "$SHA256" ] || fail "--sha256 is the digest of a .tar.gz, and $FROM is a folder"
    cp -R "$FROM/outpost.mjs" "$FROM/chunks" "$PREFIX/app.new/" || fail "$FROM has no outpost.mjs and chunks/ in it"
  else
    [ -f "$archive" ] || fail "there is no file $FROM"
    is=$("$NODE" -e 'const h = require("crypto").createHash("sha256"); require("fs").createReadStream(process.argv[1]).on("data", (d) => h.update(d)).on("end", () => console.log(h.digest("hex")))' "$archive")
    if [ -n "$SHA256" ] && [ "$is" != "$(printf %s "$SHA256" | tr A-F a-f)" ]; then
      rm -rf "$PREFIX/app.new" "$PREFIX/app.tar.gz"
      fail "the digest of $FROM is $is, not $SHA256: nothing of it was used"
    fi
    tar -xzf "$archive" --no-same-owner -C "$PREFIX/app.new" || fail "$FROM is no .tar.gz"
    rm -f "$PREFIX/app.tar.gz"
  fi
  chmod -R u+rwX,go+rX,go-w "$PREFIX/app.new"
  version=$("$NODE" "$PREFIX/app.new/outpost.mjs" --version) || fail "$FROM has no program that runs here: it is outpost.mjs and chunks/"
  say "Outpost $version"
fi

# Its scripts. Settings are lines of NAME=value that no shell reads as code.
cat > "$PREFIX/bin/run" <<END
#!/bin/sh
# The delegate in the foreground, with its settings.
set -eu
while IFS= read -r line; do export "\$line"; done < "$PREFIX/etc/delegate.env"
cd "$PREFIX/work"
exec "$NODE" "$PREFIX/app/outpost.mjs" delegate
END
cat > "$PREFIX/bin/supervise" <<END
#!/bin/sh
# Starts the delegate again whenever it ends, until it is asked to stop.
stopped='' child=''
trap 'stopped=yes; [ -z "\$child" ] || kill -TERM "\$child" 2> /dev/null' TERM INT
echo \$\$ > "$PREFIX/run/pid"
while [ -z "\$stopped" ]; do
  "$PREFIX/bin/run" &
  child=\$!
  # A signal ends the waiting, not the delegate: it lets its tasks end first.
  while kill -0 "\$child" 2> /dev/null; do wait "\$child"; done
  child=''
  if [ -z "\$stopped" ]; then
    sleep 5 &
    child=\$!
    wait "\$child"
    child=''
  fi
done
rm -f "$PREFIX/run/pid"
END
cat > "$PREFIX/bin/start" <<END
#!/bin/sh
# Starts the delegate in the background, for machines without systemd. Let it be called when the machine starts.
set -eu
pid=\$(cat "$PREFIX/run/pid" 2> /dev/null || true)
if [ -n "\$pid" ] && grep -qs "$PREFIX/bin/supervise" "/proc/\$pid/cmdline"; then exit 0; fi
log="$PREFIX/log/delegate.log"
# Twice this is all that the logs of one start after the other take.
if [ -f "\$log" ] && [ "\$(wc -c < "\$log")" -gt 10485760 ]; then mv "\$log" "\$log.1"; fi
setsid ${DROP:+$DROP }sh -c 'exec "\$0" >> "\$1" 2>&1 < /dev/null' "$PREFIX/bin/supervise" "\$log" > /dev/null 2>&1 < /dev/null &
END
cat > "$PREFIX/bin/stop" <<END
#!/bin/sh
# Asks the delegate to stop; tasks that run get ten minutes to end.
set -eu
pid=\$(cat "$PREFIX/run/pid" 2> /dev/null || true)
if [ -z "\$pid" ] || ! grep -qs "$PREFIX/bin/supervise" "/proc/\$pid/cmdline"; then exit 0; fi
kill -TERM "\$pid"
left=3000
while [ \$left -gt 0 ] && kill -0 "\$pid" 2> /dev/null; do
  sleep 0.2
  left=\$((left - 1))
done
if kill -0 "\$pid" 2> /dev/null; then kill -KILL "-\$pid"; fi
END
chmod 0755 "$PREFIX/bin/run" "$PREFIX/bin/supervise" "$PREFIX/bin/start" "$PREFIX/bin/stop"

path=$PREFIX/tools/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
[ -n "$ROOT" ] || path=$PREFIX/tools/bin:$PATH
(
  umask 077
  {
    printf '%s\n' "$ENVIRONMENT"
    printf '%s\n' "DELEGATE_TOKEN=$TOKEN" "OUTPOST_WORK_DIR=$PREFIX/work" "OUTPOST_LISTEN=$LISTEN" "HOME=$PREFIX/work" \
      "TOOLS=$PREFIX/tools" "PATH=$path"
    if [ -n "$CA" ]; then printf '%s\n' "OUTPOST_CA_FILE=$PREFIX/etc/ca.crt"; fi
  } > "$PREFIX/etc/delegate.env.new"
)
own "$PREFIX/etc/delegate.env.new"

# Tools that tasks need, by the script that came with the settings.
if [ -n "$INIT" ]; then
  printf '%s\n' "$INIT" > "$PREFIX/etc/init.sh"
  # shellcheck disable=SC2016,SC2086 # the inner shell expands; several words
  $DROP sh -c 'while IFS= read -r line; do case $line in DELEGATE_TOKEN=*) ;; *) export "$line" ;; esac; done < "$0"; cd "$OUTPOST_WORK_DIR"; exec sh -e "$1"' \
    "$PREFIX/etc/delegate.env.new" "$PREFIX/etc/init.sh" || fail "the init script failed; what ran before runs on"
else
  rm -f "$PREFIX/etc/init.sh"
fi

stop_it
mv "$PREFIX/etc/delegate.env.new" "$PREFIX/etc/delegate.env"
if [ -d "$PREFIX/app.new" ]; then
  rm -rf "$PREFIX/app"
  mv "$PREFIX/app.new" "$PREFIX/app"
fi

if [ -n "$SYSTEMD" ]; then
  # A home that is hidden would hide the program.
  case "$PREFIX:$NODE" in */home/* | *"${HOME:-/home}"/*) homes=no ;; *) homes=yes ;; esac
  cat > "$UNIT" <<END
[Unit]
Description=Outpost delegate ($NAME)
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
User=$RUN_AS
Group=$GROUP
ExecStart=$PREFIX/bin/run
Restart=always
RestartSec=5
# Only the delegate is asked to stop; it lets its tasks end.
KillMode=mixed
TimeoutStopSec=600
UMask=0077
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ReadWritePaths=$PREFIX/work $PREFIX/tools
ProtectHome=$homes
PrivateTmp=yes
PrivateDevices=yes
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
ProtectProc=invisible
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
RemoveIPC=yes
SystemCallArchitectures=native
# Mounts and namespaces stay: tasks that build images make their own.
SystemCallFilter=~@clock @cpu-emulation @debug @module @obsolete @raw-io @reboot @swap
SystemCallErrorNumber=EPERM
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK

[Install]
WantedBy=multi-user.target
END
  systemctl daemon-reload
  systemctl enable "$NAME.service"
fi
[ -n "$START" ] || {
  say "$NAME is installed in $PREFIX and not started"
  exit 0
}
if [ -n "$SYSTEMD" ]; then systemctl restart "$NAME.service"; else "$PREFIX/bin/start"; fi

# Ready is when the service has let it in.
"$NODE" -e '
  const end = Date.now() + 60000;
  const ask = () => fetch(`http://${process.argv[1]}/readyz`).then((r) => r.ok, () => false).then((ok) => {
    if (ok) process.exit(0);
    if (Date.now() > end) process.exit(1);
    setTimeout(ask, 200);
  });
  ask();' "$LISTEN" || {
  if [ -n "$SYSTEMD" ]; then journalctl --no-pager --lines 20 --unit "$NAME.service" >&2; else tail -n 20 "$PREFIX/log/delegate.log" >&2; fi
  fail "$NAME is installed in $PREFIX, and was not connected within a minute; its last lines are above"
}
say "$NAME is installed in $PREFIX and connected"
if [ -z "$SYSTEMD" ]; then say "This machine has no systemd, or you are not root: let $PREFIX/bin/start be called when it starts."; fi
