import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../servers/run.ts";
import type { Plan } from "./plan.ts";

/** Unpacking a quarter of a gigabyte takes two seconds here; a slow disk may need a minute. */
const IMPORT_MS = 300_000;

/** Imports an OCI layout folder. Layers the node already has are left out: a rebuilt application arrives in a tenth of a second. */
export async function importLayout({ dir, path }: Plan, layout: string): Promise<void> {
  const ctr = path.map((folder) => join(folder, "ctr")).find((file) => existsSync(file)) ?? "ctr";
  const args = ["-a", join(dir, "containerd.sock"), "-n", "k8s.io"];
  const known = new Set((await run(ctr, [...args, "content", "ls", "--quiet"])).stdout.split("\n"));
  const blobs = await readdir(join(layout, "blobs", "sha256"));
  const files = [
    "oci-layout",
    "index.json",
    ...blobs.filter((digest) => !known.has(`sha256:${digest}`)).map((digest) => `blobs/sha256/${digest}`),
  ];
  const tar = spawn("tar", ["-C", layout, "-cf", "-", "--", ...files], { stdio: ["ignore", "pipe", "inherit"] });
  const load = spawn(ctr, [...args, "images", "import", "-"], {
    stdio: ["pipe", "ignore", "pipe"],
    timeout: IMPORT_MS,
  });
  let said = "";
  load.stderr.on("data", (chunk) => {
    said += chunk;
  });
  // When the reader ends first, the writer's broken pipe is not the news.
  load.stdin.on("error", () => {});
  tar.stdout.pipe(load.stdin);
  const code = await new Promise<number | null>((resolve, reject) => {
    load.once("error", reject).once("close", resolve);
    tar.once("error", reject);
  });
  tar.kill();
  if (code !== 0) throw new Error(`importing ${layout}: ${said.trim() || `ctr ended with ${code}`}`);
}
