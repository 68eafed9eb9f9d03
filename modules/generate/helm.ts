/** Finds helm, which renders the charts when the project is generated. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const sources = fileURLToPath(new URL("../../test/cluster/tools/helm", import.meta.url));

/** $HELM, or the one that the test bed has built, or one on PATH of version 3.16 or newer. */
export function findHelm(env: NodeJS.ProcessEnv = process.env): string {
  if (env.HELM) return env.HELM;
  const built = join(env.OUTPOST_CACHE || join(homedir(), ".cache/outpost"), "tools", `helm-${digest()}`, "helm");
  if (existsSync(built)) return built;
  const found = (env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "helm"))
    .find((path) => existsSync(path) && fits(path));
  if (found) return found;
  throw new Error("helm 3.16 or newer is needed to render the charts: put it on PATH, name it with HELM, or let `npm test` build it");
}

/** As the test bed names its folder. */
function digest(): string {
  const hash = createHash("sha256");
  for (const file of ["go.mod", "go.sum"]) hash.update(readFileSync(join(sources, file)));
  return hash.digest("hex").slice(0, 12);
}

function fits(path: string): boolean {
  const said = execFileSync(path, ["version", "--template", "{{.Version}}"], { encoding: "utf8", timeout: 10_000 });
  return /^v3\.(1[6-9]|[2-9]\d)\./.test(said);
}
