/**
 * A task's environment must not reach what runs before it as root: LD_PRELOAD, ENV or PERL5OPT would be code there. Its variables travel
 * under other names, and a shell that is the task's user already gives them their own. They are never part of a command line.
 */
export function handed(env: Record<string, string>): { env: Record<string, string>; prefix: string[] } {
  const names = Object.keys(env).filter((name) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !READ_ONLY.has(name));
  const travelling = Object.fromEntries(names.map((name, i) => [`${PREFIX}${i}`, env[name]!]));
  const renames = names.map((name, i) => `export ${name}="$${PREFIX}${i}"; unset ${PREFIX}${i}`);
  return {
    env: { ...travelling, PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
    prefix: ["/bin/sh", "-c", [...renames, 'exec "$@"'].join("\n"), "sh"],
  };
}

const PREFIX = "OUTPOST_HANDED_";
// Where /bin/sh is bash, setting one of these ends it.
const READ_ONLY = new Set(["UID", "EUID", "PPID", "BASHOPTS", "SHELLOPTS", "BASH_VERSINFO"]);
