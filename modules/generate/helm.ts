import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Prints the path of helm on the last line; builds it first when the machine has none that fits. */
const ASK = `
import { buildTools } from "./test/cluster/tools.ts";
const { helm } = await buildTools((line) => console.error(line), ["helm"]);
console.log(helm);
`;

/** $HELM, or the test bed's. The test bed is asked in a process of its own, as no product file may import what is for tests. */
export function findHelm(env: NodeJS.ProcessEnv = process.env): string {
  if (env.HELM) return env.HELM;
  const args = ["--import", "tsx", "--input-type=module", "--eval", ASK];
  // A cold build takes minutes on two cores.
  const said = execFileSync(process.execPath, args, {
    cwd: root,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    timeout: 30 * 60_000,
  });
  return said.trim().split("\n").at(-1)!;
}
