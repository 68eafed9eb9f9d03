import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { FileIdentity } from "../../link/identity/identity-file.ts";
import { makeKeys } from "../../link/identity/keys.ts";
import { temporaryFolder } from "../testing/temporary.ts";
import { checkSecrets } from "./place.ts";

const dir = temporaryFolder();

test.each<[string, object | undefined, string[], object]>([
  [
    "before it has enrolled",
    undefined,
    [],
    { state: "ok", message: expect.stringContaining("serve only tasks of the delegate's own scope") },
  ],
  [
    "for the account, without scopes",
    {},
    [],
    { state: "warn", message: expect.stringContaining("no source has scopes") },
  ],
  [
    "for the account, with scopes",
    {},
    ["file", "env"],
    { state: "ok", message: expect.stringContaining("scopes are given for file, env") },
  ],
  ["for a project", { org: "o", project: "p" }, [], { state: "ok", message: expect.stringContaining("every secret") }],
])("it says whether secrets have scopes: %s", async (name, enrolment, listed, want) => {
  const workDir = join(dir, `secrets-${name.replaceAll(/\W/g, "-")}`);
  mkdirSync(workDir);
  if (enrolment) {
    const keys = await makeKeys();
    const known = {
      worker: "w",
      kind: "delegate",
      account: "a",
      id: "d",
      tokenId: "t",
      serviceKeyId: "k",
      serviceKey: "s",
      ...enrolment,
    };
    const saved = await new FileIdentity(join(workDir, "identity.json")).save({ keys, enrolment: known as never });
    expect(saved.kind).toBe("done");
  }
  const scopes = new Map(listed.map((source) => [source, { scopes: ["*"] }]));
  const env = { OUTPOST_SECRETS_DIR: workDir };
  expect(await checkSecrets({ settings: { workDir } as never, env, scopes })).toMatchObject({
    layer: "secrets",
    ...want,
  });
});
