import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { jest } from "@jest/globals";
import { within } from "../../test/within.ts";
import { startService, type TestService } from "../control/testing/service.ts";
import { findMarked } from "./process/tree.ts";
import { createTask, getTask, type LocalDelegate, makeDelegate, startDelegate, waitTask } from "./testing/delegate.ts";
import { temporaryFolder, until } from "./testing/temporary.ts";

/** A token that is revoked, and an identity that is copied, against the real service. */
const dir = temporaryFolder();
jest.setTimeout(60_000);
let service: TestService;
const delegates: LocalDelegate[] = [];
const said: string[] = [];
const write = process.stderr.write.bind(process.stderr);

beforeAll(async () => {
  service = await startService();
  process.stderr.write = ((text: string) => said.push(String(text)) > 0) as never;
}, 60_000);
afterAll(async () => {
  process.stderr.write = write as never;
  await Promise.all(delegates.map((delegate) => delegate.stop()));
  await service?.stop();
});

test("a revoked token ends what runs within 5 s, takes nothing new, says so, and a new token is taken without a restart", async () => {
  const { token, tokenId } = await makeDelegate(service, "one");
  const file = join(dir, "token");
  writeFileSync(file, token);
  const workDir = join(dir, "one");
  const env = { OUTPOST_TOKEN_FILE: file, DELEGATE_TOKEN: "", OUTPOST_LOG_LEVEL: "warn" };
  delegates.push(await startDelegate(service, { id: "one", token: "", workDir, env }));
  const running = await createTask(service, { params: { script: "sleep 300" }, timeoutSeconds: 300 });
  await waitTask(service, running, "Running");
  const mark = `OUTPOST_WORKSPACE=${workDir}/tasks/${running}.`;
  await until("its process", () => findMarked(mark).length > 0);
  const from = Date.now();
  expect((await service.ask("DELETE", `/v1/delegates/one/tokens/${tokenId}`)).status).toBe(204);
  const queued = await createTask(service, { params: { script: "true" }, selectors: ["one"] });
  await until("the end of its process", () => findMarked(mark).length === 0);
  expect(Date.now() - from).toBeLessThan(within(5_000));
  const line = await until("the reason", () => said.find((text) => text.includes("TokenRevoked")));
  expect(line).toMatch(/was revoked: create a new one.*without a restart/);
  expect((await getTask(service, queued)).state).toBe("Queued");
  const made = await service.ask("POST", "/v1/delegates/one/tokens", { body: {} });
  writeFileSync(file, made.body.token);
  expect((await waitTask(service, queued, undefined, 20_000)).state).toBe("Succeeded");
});

test("a second process with a copy of the identity is refused and told so, and the first goes on", async () => {
  const { token } = await makeDelegate(service, "two");
  const workDir = join(dir, "two");
  const first = await startDelegate(service, { id: "two", token, workDir });
  delegates.push(first);
  const copy = join(dir, "copy");
  cpSync(join(workDir, "identity.json"), join(copy, "identity.json"));
  said.length = 0;
  delegates.push(
    await startDelegate(service, { id: "two", token: "", workDir: copy, env: { OUTPOST_LOG_LEVEL: "warn" } }),
  );
  const line = await until("the refusal", () => said.find((text) => text.includes("worker_in_use")));
  expect(line).toMatch(/uses this identity.*work folder of its own/);
  const task = await createTask(service, { params: { script: "true" }, selectors: ["two"] });
  expect((await waitTask(service, task)).state).toBe("Succeeded");
  expect(
    await service.db.query("select distinct instance from sessions where worker = $1", [
      JSON.parse(readFileSync(join(copy, "identity.json"), "utf8")).enrolment.worker,
    ]),
  ).toHaveLength(1);
});
