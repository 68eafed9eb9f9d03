import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Io } from "../output/io.ts";
import { resolveTarget } from "./settings.ts";

const folder = mkdtempSync(join(tmpdir(), "settings-"));
const file = join(folder, "config.json");
const context = { endpoint: "http://127.0.0.1:1", apiKey: "opk_default_a", org: "acme" };
writeFileSync(file, JSON.stringify({ current: "here", contexts: { here: context } }), { mode: 0o600 });
afterAll(() => rmSync(folder, { recursive: true }));

test("an empty variable counts as not set, and an empty organization as none", async () => {
  const env = { OUTPOST_CONFIG: file, OUTPOST_ENDPOINT: "", OUTPOST_CONTEXT: "", OUTPOST_API_KEY: "" };
  const io = (more = {}) => ({ env: { ...env, ...more } }) as unknown as Io;
  expect(await resolveTarget(io(), {})).toMatchObject({ ...context, context: "here" });
  expect((await resolveTarget(io({ OUTPOST_ORG: "" }), {})).org).toBeUndefined();
});
