import { join } from "node:path";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { run } from "../../../base/process/run.ts";
import type { TaskContext } from "../../kind.ts";
import { makeTaskFolder, putTaskFile } from "../../task/task-files.ts";
import { programLacks } from "../script/program.ts";
import type { RegistryLogin } from "./registry-logins.ts";

const HOW = "install buildah (Debian, Fedora and Alpine have it), or use the delegate's image";
const USERS =
  "programs that are not root cannot make a user namespace, which a builder needs: allow them (seccomp, sysctl), or use a VM";

/** Whether there is a buildah, and whether a task could use it: in many containers no user namespace may be made. */
export async function buildahLacks(env: NodeJS.ProcessEnv, cannotBuild?: string): Promise<string | undefined> {
  const missing = await programLacks("buildah", ["--version"], env, HOW);
  if (missing ?? cannotBuild) return missing ?? cannotBuild;
  const root = process.getuid?.() === 0;
  // As root without a sandbox it needs none.
  if (root && env.OUTPOST_SANDBOX === "off") return undefined;
  const [file, ...args] = [
    ...(root ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"] : []),
    "unshare",
    "--user",
    "true",
  ];
  const ran = await run(file!, {
    args,
    cwd: "/",
    env: { PATH: "/usr/bin:/bin:/usr/sbin:/sbin" },
    deadlineMs: 10_000,
    maxBytes: 4_096,
  });
  return ran.kind === "done" && ran.value.code === 0 ? undefined : USERS;
}

export interface Builder {
  /** Arguments before the command. */
  global: string[];
  env: Record<string, string>;
}

// What the builder itself reads: a build argument of such a name would change it instead.
const RESERVED =
  /^(PATH|HOME|TMPDIR|USER|(BUILDAH|BUILD|CONTAINERS?|STORAGE|XDG|REGISTRY|DOCKER|OUTPOST|LD|GO|SSL|_CONTAINERS|_BUILDAH)_.*|GODEBUG|NOTIFY_SOCKET)$/;

/**
 * Settings for a buildah that belongs to one task: storage, logins and certificates in its workspace. Copies instead of overlay mounts (vfs),
 * as those need rights and would outlive a builder that is killed.
 */
export async function prepareBuilder(
  buildArgs: Record<string, string>,
  logins: readonly RegistryLogin[],
  context: TaskContext,
): Promise<Outcome<Builder>> {
  const reserved = Object.keys(buildArgs).find((name) => RESERVED.test(name));
  if (reserved)
    return stop(
      "ParamsInvalid",
      `/params/buildArgs: the builder itself uses the variable ${reserved}; give the argument another name`,
    );
  const { dir, home, tmp } = context.workspace;
  const at = join(dir, "buildah");
  const config = join(home, ".config", "containers");
  const lookaside = join(at, "signatures");
  for (const folder of [at, join(config, "registries.d")]) await makeTaskFolder(dir, folder);
  const [graph, runs] = [join(at, "root"), join(at, "run")];
  const files: [string, string][] = [
    // The author of the task decides whether an image is trusted: by digest, where it matters.
    [join(config, "policy.json"), JSON.stringify({ default: [{ type: "insecureAcceptAnything" }] })],
    [join(config, "registries.conf"), registriesConf(logins)],
    [join(config, "storage.conf"), `[storage]\ndriver = "vfs"\ngraphroot = ${toml(graph)}\nrunroot = ${toml(runs)}\n`],
    // Otherwise it looks for signatures in a folder of the machine, which may be closed to the task. The first is the older name.
    [
      join(config, "registries.d", "default.yaml"),
      JSON.stringify({ "default-docker": { sigstore: `file://${lookaside}`, lookaside: `file://${lookaside}` } }),
    ],
    [join(at, "auth.json"), authFile(logins)],
  ];
  for (const [file, text] of files) await putTaskFile(dir, file, text);
  for (const { registry, caCertificate } of logins) {
    if (caCertificate === undefined) continue;
    const certs = join(config, "certs.d", registry.split("/")[0]!);
    await putTaskFile(dir, join(certs, "ca.crt"), caCertificate);
  }
  const env = {
    ...context.env,
    ...buildArgs,
    ...context.own,
    HOME: home,
    TMPDIR: tmp,
    XDG_RUNTIME_DIR: runs,
    REGISTRY_AUTH_FILE: join(at, "auth.json"),
    CONTAINERS_REGISTRIES_CONF: join(config, "registries.conf"),
    CONTAINERS_STORAGE_CONF: join(config, "storage.conf"),
    BUILDAH_ISOLATION: "chroot",
  };
  return done({ global: ["--root", graph, "--runroot", runs, "--storage-driver", "vfs"], env });
}

function registriesConf(logins: readonly RegistryLogin[]): string {
  const rows = logins.map(({ registry, plainHttp }) =>
    plainHttp ? `[[registry]]\nlocation = ${toml(registry)}\ninsecure = true\n` : "",
  );
  return `unqualified-search-registries = ["docker.io"]\nshort-name-mode = "permissive"\n${rows.join("")}`;
}

function authFile(logins: readonly RegistryLogin[]): string {
  const rows = logins.flatMap(({ registry, username, password }) => {
    if (username === undefined) return [];
    const auth = Buffer.from(`${username}:${password ?? ""}`).toString("base64");
    return [[registry, { auth }] as const];
  });
  return JSON.stringify({ auths: Object.fromEntries(rows) });
}

// A basic string of TOML is escaped as JSON's are, but for a few control characters that no path here has.
const toml = (text: string) => JSON.stringify(text);
