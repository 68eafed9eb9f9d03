import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { unzipSync } from "fflate";
import { EnvHttpProxyAgent, fetch, type Response } from "undici";
import { run } from "../servers/run.ts";
import { type Download, downloads, placeOf } from "./downloads.mjs";
import { type Progress, step } from "./progress.ts";
import type { Recipe } from "./recipes.ts";

/** A host that does not begin to answer in this time is taken for unreachable. */
const CONNECT_MS = 5_000;
/** The largest file is kube-apiserver with 93 MB: half an hour at 50 kB a second. */
const FILE_MS = 30 * 60_000;

const through = new EnvHttpProxyAgent({ connect: { timeout: CONNECT_MS }, headersTimeout: 2 * CONNECT_MS });
/** Hosts that did not answer: asked once in a run. */
const silent = new Set<string>();

/**
 * Fetches the vendor's release of a tool into `dir`. Gives undefined when all its programs are there, and else the reason why
 * it has to be built: no release, no way to the vendor, or a sum that is not the published one.
 */
export async function download(
  recipe: Pick<Recipe, "name" | "programs">,
  dir: string,
  progress: Progress,
  files: Download[] | undefined = downloads[recipe.name],
): Promise<string | undefined> {
  if (!files || process.platform !== "linux" || process.arch !== "x64") return "there is no release to download";
  try {
    // All sums first: they are small, and tell whether the vendor can be reached at all.
    const sums = await Promise.all(files.map(sumOf));
    await step(progress, `downloading ${recipe.name}`, async () => {
      for (const [index, file] of files.entries()) await fetchProgram(recipe, file, sums[index]!, dir);
    });
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The SHA-256 sum that the file must have. A pinned one must agree with the vendor's. */
async function sumOf(file: Download): Promise<string> {
  const text = await (await get(file.sums, 30_000)).text();
  const published = publishedSum(text, basename(new URL(file.url).pathname));
  if (!published) throw new Error(`${file.sums} has no sum of ${basename(file.url)}`);
  if (file.sha256 && file.sha256 !== published)
    throw new Error(`${file.sums} has another sum than the pinned ${file.sha256}`);
  return published;
}

/** The sum of one file in a vendor's list: lines of `SUM  NAME`, or a sum alone. */
export function publishedSum(text: string, name: string): string | undefined {
  const lines = text.split("\n").map((line) => line.trim().split(/\s+\*?/));
  const line = lines.find(([, of]) => of === name) ?? lines.find(([sum, of]) => sum && of === undefined);
  return line && /^[0-9a-f]{64}$/.test(line[0]!) ? line[0] : undefined;
}

async function fetchProgram(recipe: Pick<Recipe, "programs">, file: Download, sum: string, dir: string): Promise<void> {
  const work = await mkdtemp(join(dir, ".download-"));
  try {
    const archive = join(work, "file");
    const hash = createHash("sha256");
    const body = (await get(file.url, FILE_MS)).body;
    if (!body) throw new Error(`${file.url} is empty`);
    const counted = Readable.fromWeb(body).on("data", (chunk: Buffer) => hash.update(chunk));
    await pipeline(counted, createWriteStream(archive));
    const got = hash.digest("hex");
    if (got !== sum) throw new Error(`${file.url} has the SHA-256 sum ${got}, and not ${sum}`);
    for (const [program, member] of Object.entries(file.programs)) {
      const unpacked = member ? await unpack(file.url, archive, member, work) : archive;
      const to = join(dir, recipe.programs[program]![0]!);
      await mkdir(dirname(to), { recursive: true });
      await chmod(unpacked, 0o755);
      await rename(unpacked, to);
    }
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function unpack(url: string, archive: string, member: string, work: string): Promise<string> {
  const to = join(work, member);
  if (!url.endsWith(".zip")) {
    await run("tar", ["-xzf", archive, "-C", work, member]);
    return to;
  }
  const content = unzipSync(await readFile(archive), { filter: ({ name }) => name === member })[member];
  if (!content) throw new Error(`${url} has no ${member}`);
  await writeFile(to, content);
  return to;
}

async function get(url: string, deadlineMs: number): Promise<Response> {
  const place = placeOf(url);
  if (!place) throw new Error("OUTPOST_DOWNLOADS is off");
  const { host } = new URL(place);
  if (silent.has(host)) throw new Error(`${host} does not answer`);
  const response = await fetch(place, { dispatcher: through, signal: AbortSignal.timeout(deadlineMs) }).catch(
    (error: Error) => {
      silent.add(host);
      throw new Error(`${host} does not answer: ${(error.cause as Error | undefined)?.message ?? error.message}`);
    },
  );
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`${place} answers ${response.status}`);
  }
  return response;
}
