import { environmentOf, shellWord } from "./environment.ts";
import { DEFAULT_IMAGE, delegateName, type InstallValues } from "./values.ts";

/** A script of `docker run` lines. The token is in a file, since arguments are seen by everybody on the machine. */
export function renderDocker(values: InstallValues): string {
  const { id, image = DEFAULT_IMAGE, token, caCertificate, initScript, replicas = 1 } = values;
  const name = delegateName(id);
  const env = environmentOf(values, {
    OUTPOST_WORK_DIR: "/var/lib/outpost",
    OUTPOST_CA_FILE: caCertificate === undefined ? undefined : "/etc/outpost/ca.crt",
    OUTPOST_GRACE_SECONDS: "590",
    HOME: "/tmp",
    TOOLS: "/opt/outpost/tools",
    PATH: "/opt/outpost/tools/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  });
  const lines = env.map(([key, value]) => shellWord(`${key}=${value}`)).join(" \\\n  ");
  const file = (path: string, text: string) =>
    `printf '%s\\n' ${shellWord(text.trimEnd())} > "$dir/${path}"\nchmod 644 "$dir/${path}"\n`;
  const mount = (path: string, target: string) => ` --mount "type=bind,source=$dir/${path},target=${target},readonly"`;
  const ca = caCertificate === undefined ? "" : mount("ca.crt", "/etc/outpost/ca.crt");
  const volumes = `--mount "type=volume,source=$name,target=/var/lib/outpost" --mount "type=volume,source=$name-tools,target=/opt/outpost/tools"`;
  const bounds =
    "--read-only --tmpfs /tmp:rw,exec,nosuid,nodev,size=1g,mode=1777 --security-opt no-new-privileges --pids-limit 4096 --memory 2g";
  const init = `  "$engine" run --rm ${bounds} --cap-drop ALL --user 1000:1000 --env-file "$dir/tools.env" \\
    ${volumes}${ca}${mount("init.sh", "/etc/outpost/init.sh")} \\
    --entrypoint sh "$image" -e /etc/outpost/init.sh
`;
  return `#!/bin/sh
# Runs the delegate ${id} in Docker, or by ENGINE=podman in podman. Run it again to upgrade or to change settings.
# To remove it: for each of its containers, docker rm --force NAME and docker volume rm NAME NAME-tools; then its folder below.
set -eu
umask 077
engine=\${ENGINE:-docker}
image=\${IMAGE:-${shellWord(image)}}
dir=\${OUTPOST_DIR:-"$HOME/.config/${name}"}
${
  token === undefined
    ? `# Made by: outpost delegate token ${id}
: "\${DELEGATE_TOKEN:?is the enrolment token of the delegate: set it in the environment of this script}"
token=$DELEGATE_TOKEN`
    : `token=${shellWord(token)}`
}
mkdir -p "$dir"
# A file of variables, so that the token is in no list of processes.
printf '%s\\n' \\
  ${lines} > "$dir/tools.env"
{ cat "$dir/tools.env"; printf 'DELEGATE_TOKEN=%s\\n' "$token"; } > "$dir/delegate.env"
${caCertificate === undefined ? "" : file("ca.crt", caCertificate)}${initScript === undefined ? "" : file("init.sh", initScript)}for name in ${names(name, replicas)}; do
  # New volumes are root's, and the delegate is not.
  "$engine" run --rm --read-only --network none --cap-drop ALL --cap-add CHOWN --user 0:0 ${volumes} \\
    --entrypoint chown "$image" 1000:1000 /var/lib/outpost /opt/outpost/tools
${initScript === undefined ? "" : init}  # Asked to stop, it lets its tasks end; a container that is not there is none to stop.
  "$engine" stop --time 600 "$name" > /dev/null 2>&1 || true
  "$engine" rm --force "$name" > /dev/null 2>&1 || true
  "$engine" run --detach --name "$name" --hostname "$name" --init --restart unless-stopped --stop-timeout 600 \\
    ${bounds} --cap-drop ALL --user 1000:1000 --env-file "$dir/delegate.env" \\
    ${volumes}${ca} \\
    "$image" delegate
done
`;
}

const names = (name: string, replicas: number) =>
  Array.from({ length: replicas }, (_, i) => (replicas === 1 ? name : `${name.slice(0, 59)}-${i + 1}`)).join(" ");
