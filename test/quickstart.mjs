/**
 * `npm run quickstart`: from a fresh clone to an application that is kept equal to Git, on a real cluster.
 *
 *   npm run quickstart                          everything on this machine (Linux, root)
 *   npm run quickstart -- --port 9000           the service's port; default 8080
 *   npm run quickstart -- --kubeconfig FILE [--context NAME] --address URL --image REF     on a cluster you have
 *   npm run quickstart -- --status              what runs
 *   npm run dev                                 the same, and again after each change of the code
 *   npm run quickstart -- --down                removes everything it made
 *
 * This file needs Node alone: it says what is missing before anything is changed, installs the packages, and hands over.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { begin, palette } from "./progress.mjs";
import { check, checkNodeVersion } from "./quickstart/check.mjs";
import { installPackages, packagesInstalled } from "./setup.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const c = palette();

function flags() {
  try {
    const { values } = parseArgs({
      options: {
        port: { type: "string" },
        kubeconfig: { type: "string" },
        context: { type: "string" },
        address: { type: "string" },
        image: { type: "string" },
        status: { type: "boolean", default: false },
        watch: { type: "boolean", default: false },
        down: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    if (values.port && !/^[1-9]\d{0,4}$/.test(values.port))
      throw new Error(`--port takes a number, not ${values.port}`);
    return values;
  } catch (error) {
    console.error(`${error.message}\n`);
    usage(2);
  }
}

function usage(code) {
  const text = readFileSync(fileURLToPath(import.meta.url), "utf8");
  console.log(
    text
      .slice(text.indexOf("/**") + 3, text.indexOf("*/"))
      .replace(/^ \* ?/gm, "")
      .trim(),
  );
  process.exit(code);
}

const given = flags();
if (given.help) usage(0);
const folder = process.env.OUTPOST_QUICKSTART || ".quickstart";
const stateFile = join(root, folder, "state.json");
const state = existsSync(stateFile) ? JSON.parse(readFileSync(stateFile, "utf8")) : {};

if (given.down && !existsSync(join(root, folder))) {
  console.log("Nothing to remove: the quickstart has not run here.");
  process.exit(0);
}
const port = Number(given.port ?? state.port ?? 8080);
const own = given.kubeconfig
  ? { kubeconfig: given.kubeconfig, context: given.context, address: given.address, image: given.image }
  : state.own;
const lacks =
  given.down || given.status ? checkNodeVersion() : await check({ root, port, own, reuse: state.port === port });
if (lacks.length) {
  console.error(`${c.red("The quickstart cannot start; nothing has been changed.")}\n`);
  for (const { missing, whatToDo } of lacks)
    console.error(`  ${c.bold("missing")}  ${missing}\n  ${c.dim("do")}       ${whatToDo}\n`);
  process.exit(1);
}

if (packagesInstalled(root)) await installPackages(root, join(root, folder, "logs/npm.log"));
else {
  const step = begin("Install packages");
  try {
    await installPackages(root, join(root, folder, "logs/npm.log"));
    step.done();
  } catch (error) {
    step.fail();
    console.error(error.message);
    process.exit(1);
  }
}
const { register } = await import("tsx/esm/api");
register();
const { quickstart } = await import("./quickstart/main.ts");
process.exitCode = await quickstart({ root, port, own, status: given.status, down: given.down, watch: given.watch });
