#!/usr/bin/env node
// A container engine for tests where none runs: parses `run` as docker does, and runs what the image's entrypoint would as a process.
// OUTPOST_ENGINE is its folder: volumes/, pids/, calls (one line of JSON each), and `program`, the path of outpost.mjs.
import { spawn, spawnSync } from "node:child_process";
import {
  appendFileSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

const home = process.env.OUTPOST_ENGINE;
process.umask(0o022);
const [verb, ...words] = process.argv.slice(2);
appendFileSync(join(home, "calls"), `${JSON.stringify([verb, ...words])}\n`);
const pidFile = (name) => join(home, "pids", name);

if (verb === "run") run(words);
else if (verb === "stop" || verb === "rm") await end(words.at(-1), verb === "rm" ? "SIGKILL" : "SIGTERM");
else process.exit(125);

function run(args) {
  const flags = new Map();
  const alone = new Set(["--rm", "--detach", "--init", "--read-only"]);
  while (args[0].startsWith("--")) {
    const flag = args.shift();
    flags.set(flag, [...(flags.get(flag) ?? []), alone.has(flag) ? "" : args.shift()]);
  }
  const [, ...command] = args;
  // What the image sees → where that is here.
  const places = (flags.get("--mount") ?? []).map((text) => {
    const { type, source, target } = Object.fromEntries(text.split(",").map((part) => part.split("=")));
    const here = type === "volume" ? join(home, "volumes", source) : join(home, "files", source.replaceAll("/", "_"));
    if (type === "volume") mkdirSync(here, { recursive: true });
    // Users in the container need no access to the folders above what is mounted.
    else copyFileSync(source, here);
    return [target, here];
  });
  const here = (text) => places.reduce((all, [target, place]) => all.replaceAll(target, place), text);
  const lines = (flags.get("--env-file") ?? []).flatMap((file) =>
    readFileSync(file, "utf8").split("\n").filter(Boolean),
  );
  const env = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf("=")), here(line.slice(line.indexOf("=") + 1))]),
  );
  const entrypoint = flags.get("--entrypoint")?.[0];
  if (entrypoint === "chown") {
    const [owner, ...targets] = command;
    const [uid, gid] = owner.split(":").map(Number);
    for (const target of targets) chownSync(here(target), uid, gid);
    return;
  }
  // As the line says: this user, no capabilities, no way to get any.
  const [uid, gid] = flags.get("--user")[0].split(":");
  const as = [
    `--reuid=${uid}`,
    `--regid=${gid}`,
    "--clear-groups",
    "--no-new-privs",
    "--bounding-set=-all",
    "--inh-caps=-all",
    "--",
  ];
  if (entrypoint) {
    const { status } = spawnSync("/usr/bin/setpriv", [...as, entrypoint, ...command.map(here)], {
      env,
      stdio: "inherit",
    });
    process.exit(status ?? 1);
  }
  const name = flags.get("--name")[0];
  const log = openSync(join(home, `${name}.log`), "a");
  const program = [process.execPath, readFileSync(join(home, "program"), "utf8").trim(), ...command];
  const child = spawn("/usr/bin/setpriv", [...as, ...program], { env, detached: true, stdio: ["ignore", log, log] });
  writeFileSync(pidFile(name), String(child.pid));
  child.unref();
}

async function end(name, signal) {
  if (!existsSync(pidFile(name))) process.exit(1);
  const pid = Number(readFileSync(pidFile(name), "utf8"));
  for (let left = 300; left > 0; left--) {
    try {
      process.kill(pid, left === 300 ? signal : 0);
    } catch {
      break;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  rmSync(pidFile(name));
}
