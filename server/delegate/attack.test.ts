import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { jest } from "@jest/globals";
import { startService, type TestService } from "../control/testing/service.ts";
import { createTask, logsOf, makeDelegate, waitTask } from "./testing/delegate.ts";
import { until } from "./testing/temporary.ts";

/** A real delegate that is not root and may make no user namespaces, as in a container: its tasks run under Landlock. */
jest.setTimeout(240_000);
const ROOT = process.getuid?.() === 0;
const USER = 12_345;
const dir = mkdtempSync(join(tmpdir(), "attack-"));
const workDir = join(dir, "work");
let service: TestService;
let delegate: ChildProcess | undefined;
let said = "";

beforeAll(async () => {
  chmodSync(dir, 0o755);
  mkdirSync(workDir, { mode: 0o700 });
  chownSync(workDir, USER, USER);
  service = await startService();
  const { token } = await makeDelegate(service, "shared");
  await service.ask("PUT", "/v1/organizations/b", { body: { spec: {} } });
  const program = new URL("../cli/main.ts", import.meta.url).pathname;
  // One user namespace may be made, which is this one: from within it none can.
  const inner = `exec unshare --user --map-user=${USER} --map-group=${USER} -- ${process.execPath} --import tsx ${program} delegate`;
  const outer = `echo 1 > /proc/sys/user/max_user_namespaces; ${inner}`;
  const contained = ["unshare", "--user", "--map-root-user", "--", "sh", "-c", outer];
  delegate = spawn("setpriv", [`--reuid=${USER}`, `--regid=${USER}`, "--clear-groups", "--", ...contained], {
    cwd: process.cwd(),
    env: {
      PATH: process.env.PATH,
      OUTPOST_ENDPOINT: service.url,
      DELEGATE_TOKEN: token,
      OUTPOST_WORK_DIR: workDir,
      OUTPOST_LISTEN: "127.0.0.1:0",
      OUTPOST_ALLOW_METADATA: "true",
      OUTPOST_SECRET_DB: "the-account's-password",
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  delegate.stderr!.on("data", (bytes) => {
    said += bytes;
  });
  await until(
    "the delegate is connected",
    async () => (await service.ask("GET", "/v1/delegates/shared")).body.status.connected,
  );
}, 240_000);
afterAll(async () => {
  delegate?.kill("SIGTERM");
  if (delegate)
    await until("the delegate has ended", () => delegate!.exitCode !== null || delegate!.signalCode !== null);
  await service?.stop();
  rmSync(dir, { recursive: true, force: true });
});

// A daemon with every trick waits until the artefact is being packed, and puts a link to the delegate's folder in a folder's place.
const SWAP = `
mkdir -p big/zz
head -c 300000 /dev/urandom > big/zz/a
echo mine > big/zz/identity.json
cat > daemon <<'END'
#!/bin/sh
: > started
while :; do
  for file in ../keep-f ../scratch-*; do [ -s "$file" ] && break 2; done
  sleep 0.01
done
mv big/zz big/moved; ln -s "$1" big/zz
while :; do sleep 1; done
END
chmod +x daemon
( ( setsid env -i ./daemon ${workDir} swap-daemon </dev/null >/dev/null 2>&1 & ) & )
until [ -e started ]; do sleep 0.05; done
cat ${workDir}/identity.json 2>/dev/null && echo "READ DIRECTLY"
ln ${workDir}/identity.json big/linked 2>/dev/null && echo "LINKED"
exit 0`;

(ROOT ? test : test.skip)(
  "a daemon cannot make the delegate pack its own identity, and does not live to try",
  async () => {
    const id = await createTask(service, { params: { script: SWAP, keep: [{ name: "f", path: "big" }] } });
    const task = await waitTask(service, id, undefined, 120_000);
    expect([said.match(/tasks run in a sandbox: (\S+?)"/)?.[1], task.state, task.message]).toEqual([
      "landlock",
      "Succeeded",
      undefined,
    ]);
    expect((await logsOf(service, id)).lines.filter(({ text }) => /^[A-Z]/.test(text))).toEqual([]);
    expect(daemons()).toEqual([]);
    const kept = await fetch(`${service.url}/v1/tasks/${id}/artifacts/f`, {
      headers: { authorization: `Bearer ${service.admin}` },
    });
    const archive = gunzipSync(Buffer.from(await kept.arrayBuffer())).toString("latin1");
    expect([kept.status, archive.includes("mine"), archive.includes("signSeed")]).toEqual([200, true, false]);
  },
);

(ROOT ? test : test.skip)(
  "a task of an organization gets no secret of the account's delegate, and one of the account does",
  async () => {
    const params = { script: 'test "$DB" = "the-account' + "'" + 's-password"', env: { DB: "${secret:env/DB}" } };
    const made = await service.ask("POST", "/v1/tasks?org=b", { body: { kind: "shell.run", params } });
    expect(made.status).toBe(201);
    const refused = await until("the task has ended", async () => {
      const { body } = await service.ask("GET", `/v1/tasks/${made.body.id}?org=b`);
      return body.state === "Failed" && body;
    });
    expect(refused).toMatchObject({
      reason: "SecretScopeRefused",
      message: expect.stringContaining("sources.env.scopes: [b]"),
    });
    const own = await waitTask(service, await createTask(service, { params: { ...params, script: 'test -n "$DB"' } }));
    expect(own.state).toBe("Succeeded");
  },
);

const daemons = () =>
  readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0").includes("swap-daemon");
    } catch {
      return false;
    }
  });
