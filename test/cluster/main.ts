/**
 * The local cluster by hand: `node --import tsx test/cluster/main.ts COMMAND`.
 *
 *   tools                       build or find every tool, and lay out the Terraform providers
 *   servers                     the same and what tests alone need (registry, Gitea, Prometheus, Vault; about 12 min once), unpack buildah
 *   sshd                        where sshd is, unpacked from Debian's package when it is not installed
 *   up [--name N] [--dir D]     start a node, or say that it runs
 *   down [--name N] [--dir D]   end it and remove everything it made
 *   status [--name N] [--dir D] how it is
 *   image [--dist D] [--version V] [--name N] [--dir D]
 *                               build the product's and the guestbook's images, and bring them into the node if it runs
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { canFindBuildah, findBuildah } from "../servers/buildah.ts";
import { cacheRoot } from "./cache.ts";
import { checkNode, checkTerraform, checkTools, lackLines } from "./checks.ts";
import { nodePackages, unpack, unpackSshd } from "./debian.ts";
import { buildAppImage, buildGuestbookImage } from "./image.ts";
import { findNode, startNode, stopNode } from "./node.ts";
import { recipes } from "./recipes.ts";
import { terraformMirror } from "./terraform.ts";
import { buildTools, missingTools, which } from "./tools.ts";

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    name: { type: "string", default: "local" },
    dir: { type: "string" },
    dist: { type: "string", default: "dist" },
    version: { type: "string", default: "dev" },
  },
});
const dir = values.dir ?? join(cacheRoot(), "nodes", values.name);
const progress = (line: string) => console.error(line);

const commands: Record<string, () => Promise<void>> = {
  tools: async () => {
    const lacks = [...(await checkTools()), ...checkTerraform()];
    for (const line of lackLines(lacks)) console.error(line);
    if (lacks.length) process.exitCode = 1;
    const programs = await buildTools(progress);
    const { dir: node } = await unpack("node", nodePackages, progress);
    for (const [name, path] of Object.entries({
      ...programs,
      containerd: node,
      "terraform mirror": await terraformMirror(programs),
    })) {
      console.log(`${name.padEnd(32)} ${path}`);
    }
  },
  servers: async () => {
    // The cluster's own as well: a test that built them would be too late for its deadline.
    const names = recipes.map(({ name }) => name);
    const missing = await missingTools(names);
    // Their tests say themselves that they are skipped.
    if (missing.length && !which("go"))
      return console.log(`no Go to build ${missing.join(", ")}: the tests that need them are skipped`);
    const programs = await buildTools(progress, names);
    if (canFindBuildah()) programs.buildah = (await findBuildah({ progress })).path;
    for (const [name, path] of Object.entries(programs)) console.log(`${name.padEnd(32)} ${path}`);
  },
  sshd: async () => console.log(JSON.stringify(await unpackSshd(progress))),
  up: async () => {
    const node = await startNode({ name: values.name, dir, progress });
    console.log(`export KUBECONFIG=${node.kubeconfig}`);
  },
  down: () => stopNode(dir),
  status: async () => {
    const node = findNode(dir);
    if (!node) {
      console.log(`no node runs in ${dir}`);
      for (const line of lackLines(await checkNode())) console.log(line);
      process.exitCode = 1;
      return;
    }
    const { phase, restarts, message } = node.status();
    console.log(`${node.name}: ${phase}, API at ${node.apiUrl}, KUBECONFIG=${node.kubeconfig}`);
    if (message) console.log(message);
    for (const [program, times] of Object.entries(restarts)) console.log(`${program} was started again ${times} times`);
  },
  image: async () => {
    const programs = await buildTools(progress, ["helm", "kustomize", "jsonnet"]);
    const images = [await buildGuestbookImage(programs, progress)];
    if (existsSync(join(values.dist, "outpost.mjs")))
      images.push(await buildAppImage({ version: values.version, files: values.dist, programs, progress }));
    else progress(`${values.dist} has no outpost.mjs: build it first (npm run build)`);
    const node = findNode(dir);
    for (const image of images) {
      await node?.importImage(image);
      console.log(`${image.reference.padEnd(32)} ${image.layout}${node ? `, in node ${node.name}` : ""}`);
    }
  },
};

const command = commands[positionals[0] ?? ""];
if (!command) {
  console.error(`say one of: ${Object.keys(commands).join(", ")}`);
  process.exit(2);
}
try {
  await command();
} catch (error) {
  // A message says what to do; the stack is for those who ask.
  console.error(error instanceof Error && !process.env.DEBUG ? error.message : error);
  process.exit(1);
}
