import { join } from "node:path";
import { jest } from "@jest/globals";
import { startService, type TestService } from "../control/testing/service.ts";
import { KINDS } from "./kinds/table.ts";
import { createTask, type LocalDelegate, logsOf, makeDelegate, startDelegate, waitTask } from "./testing/delegate.ts";
import { temporaryFolder } from "./testing/temporary.ts";

// Guarantee 19 at the delegate: what a task brings ends that task with a reason, and nothing else.
jest.setTimeout(60_000);
const dir = temporaryFolder();
const MIB = 1024 * 1024;
let service: TestService;
let delegate: LocalDelegate;
beforeAll(async () => {
  service = await startService();
  const { token } = await makeDelegate(service, "one", { capacity: 6 });
  const env = { OUTPOST_TASK_OUTPUT_MIB: "2", OUTPOST_SANDBOX: "off" };
  delegate = await startDelegate(service, { id: "one", token, workDir: join(dir, "one"), env });
}, 60_000);
afterAll(async () => {
  jest.restoreAllMocks();
  await delegate?.stop();
  await service?.stop();
});

const shell = (script: string) => createTask(service, { params: { script } });
/** One that begins before the poison and ends after it, and one that comes after it: both as if nothing had been. */
let count = 0;
async function among(poison: () => Promise<string>): Promise<string> {
  const go = join(dir, `go-${count++}`);
  const before = await shell(`until [ -e ${go} ]; do sleep 0.05; done`);
  await waitTask(service, before, "Running");
  const id = await poison();
  await waitTask(service, id, undefined, 30_000);
  const after = await shell(`touch ${go}`);
  for (const other of [before, after]) expect(await waitTask(service, other)).toMatchObject({ state: "Succeeded" });
  return id;
}

test("a kind that throws ends its task with a reason", async () => {
  jest.spyOn(KINDS["http.request"], "run").mockImplementation(() => {
    throw new TypeError("a defect");
  });
  const id = await among(() => createTask(service, { kind: "http.request", params: { url: "https://example.com" } }));
  expect(await waitTask(service, id)).toMatchObject({
    state: "Failed",
    reason: "DelegateFailed",
    message: expect.stringMatching(/a defect/),
  });
});

test("parameters that the kind cannot take end the task before anything is run", async () => {
  jest.spyOn(KINDS["git.clone"], "validate").mockReturnValue(false);
  const id = await among(() =>
    createTask(service, { kind: "git.clone", params: { url: "https://example.com/a.git" } }),
  );
  expect(await waitTask(service, id)).toMatchObject({ state: "Failed", reason: "ParamsInvalid" });
});

test("a kind that is not known ends the task with a reason", async () => {
  const known = KINDS["image.push"];
  delete (KINDS as Partial<typeof KINDS>)["image.push"];
  try {
    const id = await among(() =>
      createTask(service, { kind: "image.push", params: { from: "example.com/a:1", to: ["example.com/b:1"] } }),
    );
    expect(await waitTask(service, id)).toMatchObject({ state: "Failed", reason: "KindUnknown" });
  } finally {
    KINDS["image.push"] = known;
  }
});

test("a result of 30 MB is reported without its outputs, with words that say so", async () => {
  jest
    .spyOn(KINDS["http.request"], "run")
    .mockResolvedValue({ outcome: "succeeded", outputs: { a: "x".repeat(30 * MIB) } } as never);
  const id = await among(() => createTask(service, { kind: "http.request", params: { url: "https://example.com" } }));
  const task = await waitTask(service, id);
  expect(task).toMatchObject({ state: "Succeeded", message: expect.stringMatching(/refused its outputs/) });
  expect(task.outputs ?? {}).toEqual({});
});

test.each([
  ["one output", `printf 'a=' >> "$OUTPOST_OUTPUT"; head -c ${30 * MIB} /dev/zero | tr '\\0' x >> "$OUTPOST_OUTPUT"`],
  ["a million outputs", `seq -f 'a%.0f=1234567890123456789012' 1000000 >> "$OUTPOST_OUTPUT"`],
])("of %s of 30 MB that a script writes only what fits is kept, and its log says so", async (_name, script) => {
  const id = await among(() => shell(script));
  const task = await waitTask(service, id);
  expect(JSON.stringify(task).length).toBeLessThan(MIB);
  expect((await logsOf(service, id)).lines.map(({ text }) => text).join()).toMatch(/lines of \$OUTPOST_OUTPUT are not/);
});

test("a line of 30 MB is cut into pieces and kept as far as a log goes, which it says", async () => {
  const id = await among(() => shell(`head -c ${30 * MIB} /dev/zero | tr '\\0' x`));
  expect(await waitTask(service, id)).toMatchObject({ state: "Succeeded" });
  const { lines } = await logsOf(service, id);
  expect(Math.max(...lines.map(({ text }) => text.length))).toBeLessThanOrEqual(65_536);
  expect(lines.at(-1)!.text).toMatch(/lines were not kept/);
});
