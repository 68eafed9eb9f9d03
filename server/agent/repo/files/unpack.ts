import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { done, type Outcome, stop } from "../../../base/outcome.ts";
import { BOUNDS, type Tree } from "../git/tree.ts";
import { REPO } from "../types.ts";
import { FolderTree } from "./folder.ts";
import { untar } from "./untar.ts";

/** Unpacks an archive below a folder, under a name that its content gives. A chart's archive has a folder of its own around it. */
export async function unpack(
  blob: Buffer,
  below: string,
  { gzip, chart }: { gzip: boolean; chart: boolean },
): Promise<Outcome<Tree>> {
  let archive = blob;
  if (gzip) {
    try {
      archive = await promisify(gunzip)(blob, { maxOutputLength: BOUNDS.totalBytes + 20_000_000 });
    } catch (error) {
      const large = (error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE";
      return large
        ? stop(REPO.tooLarge, "the archive unpacks to more than is accepted")
        : stop(REPO.refused, "the archive is damaged");
    }
  }
  await mkdir(below, { recursive: true, mode: 0o700 });
  const work = await mkdtemp(join(below, "pull-"));
  try {
    const out = join(work, "out");
    await mkdir(out);
    const put = await untar(archive, out);
    if (put.kind !== "done") return put;
    const [top] = chart ? await readdir(out) : [];
    const from = top ? join(out, top) : out;
    const stock = await FolderTree.of(from);
    if (stock.kind !== "done") return stock;
    const folder = join(below, stock.value.root);
    // The same content may be there already: then that stays.
    await rename(from, folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
    return done(stock.value.moved(from, folder));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
