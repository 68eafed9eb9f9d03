import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { person } from "./testing.ts";

const service = () => ({ type: "text/plain", body: "#!/bin/sh\n" });

test("a delegate's installation is asked for in a format, without a token, with long texts from files", async () => {
  const dir = await mkdtemp(join(tmpdir(), "outpost-cli-"));
  try {
    const file = join(dir, "init.sh");
    writeFileSync(file, "echo one\necho two\n");
    const me = person(service);
    const ran = await me.types(
      "delegate",
      "manifest",
      "d",
      "--format",
      "shell",
      "--without-token",
      "--init-script-file",
      file,
    );
    expect([ran.exit, ran.out]).toEqual([0, "#!/bin/sh\n"]);
    expect(me.requests[0]).toMatchObject({
      operation: "renderDelegateManifest",
      body: { withToken: false, initScript: "echo one\necho two" },
    });
    expect(me.requests[0]!.url.searchParams.get("format")).toBe("shell");
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});

test("a format that there is not, and what only delegates have, are refused before anything is asked", async () => {
  const me = person(service);
  expect((await me.types("delegate", "manifest", "d", "--format", "rpm")).err).toContain(
    "kubernetes, helm-values, docker, ecs, shell, powershell",
  );
  expect((await me.types("agent", "manifest", "a", "--replicas", "2")).err).toContain("unknown option '--replicas'");
  expect(me.requests).toEqual([]);
});
