/** What must be there before TypeScript can run: packages as locked. Plain JavaScript, as nothing is installed yet. */
import { spawn } from "node:child_process";
import { createWriteStream, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const MINUTES = 15;

/** Whether `node_modules` holds every package that the lock file says, in its version. */
export function packagesInstalled(root) {
  const locked = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
  // Optional ones are mostly for other platforms.
  return Object.entries(locked).every(
    ([path, { version, optional, devOptional, link }]) =>
      path === "" || optional || devOptional || link || versionAt(join(root, path)) === version,
  );
}

function versionAt(dir) {
  try {
    return JSON.parse(readFileSync(join(dir, "package.json"), "utf8")).version;
  } catch {
    return undefined;
  }
}

/** `npm ci` when it is needed; true when it was. Throws with npm's words. */
export async function installPackages(root, log) {
  const needed = !packagesInstalled(root);
  if (needed) await runLogged(root, ["npm", "ci", "--no-audit", "--no-fund"], log, MINUTES);
  return needed;
}

/** Runs a command with its output in a file; the error carries the end of it. */
export function runLogged(root, command, log, minutes, env = process.env) {
  mkdirSync(dirname(log), { recursive: true });
  return new Promise((resolve, reject) => {
    const out = createWriteStream(log);
    const child = spawn(command[0], command.slice(1), {
      cwd: root,
      env,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: minutes * 60_000,
    });
    child.stdout.pipe(out, { end: false });
    child.stderr.pipe(out, { end: false });
    child.once("error", reject);
    child.once("close", (code) =>
      out.end(() => {
        if (code === 0) return resolve();
        const tail = readFileSync(log, "utf8").trimEnd().split("\n").slice(-30).join("\n");
        reject(new Error(`${command.join(" ")} failed (${log}):\n${tail}`));
      }),
    );
  });
}
