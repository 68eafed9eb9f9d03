/** `tsx server/control/store/template.ts FILE`: writes a migrated, empty embedded store, from which a first start takes a second instead of several. */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { dumpTemplate } from "./database/embedded.ts";
import { migrate } from "./database/migrate.ts";

export async function writeTemplate(path: string): Promise<void> {
  writeFileSync(path, await dumpTemplate(migrate));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) void writeTemplate(process.argv[2] ?? "store-template.tgz");
