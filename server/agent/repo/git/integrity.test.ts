import { readdirSync, readFileSync } from "node:fs";
import { type Gpg, startGpg } from "../../../../test/servers/gpg.ts";
import { type Bench, configMap, startBench } from "../testing.ts";
import type { Integrity, Keyring, SourceAccess } from "../types.ts";

let bench: Bench;
let gpg: Gpg;
let keyring: Keyring;
const keys: Record<string, string> = {};
const LONG_AGO = "20200101T000000";
beforeAll(async () => {
  bench = await startBench();
  gpg = await startGpg();
  for (const name of ["ana", "other", "stranger"]) keys[name] = await gpg.key(name);
  keys.expired = await gpg.key("expired", { at: LONG_AGO, expires: "30d" });
  keys.revoked = await gpg.key("revoked");
  keyring = await ringOf("ana", "other", "expired", "revoked");
}, 60_000);
afterAll(async () => {
  await gpg.stop();
  await bench.stop();
});

async function ringOf(...names: string[]): Promise<Keyring> {
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [keys[name]!.slice(-16), await gpg.armoured(keys[name]!)] as const)),
  );
}

function asked(
  name: string,
  integrity: Partial<Integrity> = {},
  more: Partial<SourceAccess["source"]> = {},
  ring = keyring,
): SourceAccess {
  const { source, repo } = bench.source(name, more);
  return {
    source,
    repo: { ...repo, keyring: ring },
    integrity: {
      project: "p",
      mode: "head",
      keys: ["ana", "expired", "revoked"].map((key) => keys[key]!.slice(-16)),
      ...integrity,
    },
  };
}
const render = async (...sources: SourceAccess[]) => {
  const got = await bench.service.render({ ...bench.request("none"), sources });
  return got.kind === "done" ? "done" : `${got.reason}: ${got.message}`;
};
const repository = () => bench.repository({ "a.yaml": configMap("a") });
const bare = (name: string) => bench.git.repository(name);

describe("a commit is used only if it is signed by a key that the project permits", () => {
  test("by one of them, named by its id or its fingerprint, in either case", async () => {
    const name = await repository();
    await gpg.signTip(bare(name), keys.ana!);
    expect(await render(asked(name))).toBe("done");
    for (const key of [keys.ana!, keys.ana!.toLowerCase().slice(-16)])
      expect(await render(asked(name, { keys: [key] }))).toBe("done");
  });

  test.each<[string, (name: string) => Promise<unknown>, RegExp]>([
    ["unsigned", async () => {}, /^SignatureMissing: .*git commit -S/],
    [
      "signed by a key nobody knows",
      (name) => gpg.signTip(bare(name), keys.stranger!),
      /^SignatureKeyUnknown: .*argocd-gpg-keys-cm/,
    ],
    [
      "signed by a known key that is not permitted",
      (name) => gpg.signTip(bare(name), keys.other!),
      /^SignatureKeyNotPermitted: .*other@/,
    ],
    [
      "changed after it was signed",
      (name) => gpg.signTip(bare(name), keys.ana!, { tamper: (text) => text.replace("first commit", "worse commit") }),
      /^SignatureBad: .*changed after/,
    ],
    [
      "with a damaged signature",
      (name) =>
        gpg.signTip(bare(name), keys.ana!, {
          tamper: (text) => text.replace(/\n [A-Za-z0-9+/]{20}/, "\n AAAAAAAAAAAAAAAAAAAA"),
        }),
      /^SignatureBad/,
    ],
    [
      "signed twice",
      (name) =>
        gpg.signTip(bare(name), keys.ana!, {
          tamper: (text) => text.replace(/gpgsig [\s\S]*?END PGP SIGNATURE-----\n/, (one) => one + one),
        }),
      /^SignatureBad/,
    ],
    [
      "with a text that looks like a signature in its message",
      (name) =>
        gpg.signTip(bare(name), keys.ana!, {
          tamper: (text) => text.replace(/(gpgsig [\s\S]*?END PGP SIGNATURE-----\n)([\s\S]*)/, "$2\n$1"),
        }),
      /^SignatureMissing/,
    ],
    [
      "signed by SSH",
      (name) =>
        gpg.signTip(bare(name), keys.ana!, { tamper: (text) => text.replaceAll("PGP SIGNATURE", "SSH SIGNATURE") }),
      /^SignatureMissing: .*GnuPG/,
    ],
    [
      "signed by a key that has expired",
      (name) => gpg.signTip(bare(name), keys.expired!, { at: "20200102T000000" }),
      /^SignatureKeyExpired: .*expired@.*prolong/,
    ],
  ])("%s", async (_, make, want) => {
    const name = await repository();
    await make(name);
    expect(await render(asked(name))).toMatch(want);
  });

  test("with a signature that has expired", async () => {
    const name = await repository();
    keys.old ??= await gpg.key("old", { at: LONG_AGO });
    await gpg.signTip(bare(name), keys.old, { at: "20200102T000000", expires: "1d" });
    const ring = await ringOf("old");
    expect(await render(asked(name, { keys: [keys.old] }, {}, ring))).toMatch(/^SignatureExpired: .*sign it again/);
  });

  test("signed by a key that was revoked later", async () => {
    const name = await repository();
    await gpg.signTip(bare(name), keys.revoked!);
    expect(await render(asked(name))).toBe("done");
    await gpg.revoke(keys.revoked!);
    expect(await render(asked(name, {}, {}, await ringOf("revoked", "ana")))).toMatch(
      /^SignatureKeyRevoked: .*take this one out/,
    );
  });

  test("what was refused is used as soon as the key is there, and the other way round", async () => {
    const name = await repository();
    await gpg.signTip(bare(name), keys.ana!);
    expect(await render(asked(name, {}, {}, {}))).toMatch(/^SignatureKeyUnknown/);
    expect(await render(asked(name))).toBe("done");
    expect(await render(asked(name, {}, {}, await ringOf("other")))).toMatch(/^SignatureKeyUnknown/);
  });

  test("a policy without keys lets nothing through", async () => {
    const name = await repository();
    await gpg.signTip(bare(name), keys.ana!);
    expect(await render(asked(name, { keys: [] }))).toMatch(/^SignaturePolicyInvalid/);
  });

  test("by a key below one that is permitted", async () => {
    const name = await repository();
    await gpg.signTip(bare(name), await gpg.subkey(keys.other!));
    expect(await render(asked(name, { keys: [keys.other!] }, {}, await ringOf("other")))).toBe("done");
  });

  test("the signature of a Git host, with a blank line at its end", async () => {
    const name = await repository();
    const hosted = (text: string) => text.replace("-----END PGP SIGNATURE-----\n", "-----END PGP SIGNATURE-----\n \n");
    await gpg.signTip(bare(name), keys.ana!, { tamper: hosted });
    expect(await render(asked(name))).toBe("done");
  });

  test("every source counts, also one that only lends its values", async () => {
    const [signed, unsigned] = [await repository(), await repository()];
    await gpg.signTip(bare(signed), keys.ana!);
    const values = asked(unsigned, {}, { path: undefined, ref: "values" });
    expect(await render(asked(signed), values)).toMatch(/^SignatureMissing/);
    await gpg.signTip(bare(unsigned), keys.ana!);
    expect(await render(asked(signed), asked(unsigned, {}, { path: undefined, ref: "values" }))).toBe("done");
  });
});

describe("tags", () => {
  test("an annotated tag that is asked for must be signed itself", async () => {
    const name = await repository();
    const commit = await gpg.signTip(bare(name), keys.ana!);
    await bench.git.tag(name, "v1.0.0", commit, "not signed");
    await gpg.signTag(bare(name), keys.ana!, "v1.1.0", commit);
    await gpg.signTag(bare(name), keys.ana!, "v1.2.0", commit, {
      tamper: (text) => text.replace("a release", "another"),
    });
    expect(await render(asked(name, {}, { targetRevision: "v1.0.0" }))).toMatch(/^SignatureMissing: tag v1.0.0/);
    expect(await render(asked(name, {}, { targetRevision: "v1.1.0" }))).toBe("done");
    expect(await render(asked(name, {}, { targetRevision: "1.1.*" }))).toBe("done");
    expect(await render(asked(name, {}, { targetRevision: "v1.2.0" }))).toMatch(/^SignatureBad: tag v1.2.0/);
  });

  test("a signed tag vouches for a commit that is asked for by its id; a light one says nothing", async () => {
    const name = await repository();
    const commit = (await bare(name).tip("refs/heads/main"))!;
    await bench.git.tag(name, "light", commit);
    expect(await render(asked(name, {}, { targetRevision: commit }))).toMatch(/^SignatureMissing/);
    expect(await render(asked(name, {}, { targetRevision: "light" }))).toMatch(/^SignatureMissing: commit/);
    const tagged = await repository();
    const other = (await bare(tagged).tip("refs/heads/main"))!;
    await gpg.signTag(bare(tagged), keys.ana!, "v1", other);
    expect(await render(asked(tagged, {}, { targetRevision: other }))).toBe("done");
  });
});

describe("strict", () => {
  test("every commit since the last sync must be signed, and what was before need not be", async () => {
    const name = await repository();
    const since = (await bare(name).tip("refs/heads/main"))!;
    for (const at of ["b", "c"]) {
      await bench.git.commit(name, { "a.yaml": configMap(at) }, at);
      await gpg.signTip(bare(name), keys.ana!);
    }
    const strict = { mode: "strict" as const, since };
    expect(await render(asked(name, strict))).toBe("done");
    const hole = await bench.git.commit(name, { "a.yaml": configMap("d") }, "not signed");
    await bench.git.commit(name, { "a.yaml": configMap("e") }, "signed on top");
    await gpg.signTip(bare(name), keys.ana!);
    expect(await render(asked(name, strict))).toMatch(new RegExp(`^SignatureMissing: commit ${hole.slice(0, 12)}`));
    // Mode head looks at the last one alone, as does the first sync.
    expect(await render(asked(name))).toBe("done");
    expect(await render(asked(name, { mode: "strict" }))).toBe("done");
    expect(await render(asked(name, { mode: "strict", since: hole }))).toBe("done");
  });

  test("history that was rewritten is looked at from its beginning", async () => {
    const name = await repository();
    const first = (await bare(name).tip("refs/heads/main"))!;
    const gone = await bench.git.commit(name, { "a.yaml": configMap("x") }, "gone");
    await bare(name).git("update-ref", "refs/heads/main", first);
    await bench.git.commit(name, { "a.yaml": configMap("y") }, "instead");
    await gpg.signTip(bare(name), keys.ana!);
    expect(await render(asked(name, { mode: "strict", since: gone }))).toMatch(
      new RegExp(`^SignatureMissing: commit ${first.slice(0, 12)}`),
    );
  });

  test("more commits than can be looked at are refused by name", async () => {
    const name = await repository();
    const since = (await bare(name).tip("refs/heads/main"))!;
    const tree = await bare(name).git("rev-parse", "main^{tree}");
    let tip = since;
    // One stream, not 1,001 processes.
    const { run } = await import("../../../../test/servers/run.ts");
    const lines = Array.from(
      { length: 1_001 },
      (_, i) =>
        `commit refs/heads/main\ncommitter T <t@example.com> ${1_700_000_000 + i} +0000\ndata 1\nx\n${i ? "" : `from ${tip}\n`}`,
    );
    await run("git", ["fast-import", "--quiet"], { cwd: bare(name).dir, input: Buffer.from(lines.join("")) });
    tip = await gpg.signTip(bare(name), keys.ana!);
    expect(await bare(name).git("rev-parse", "main^{tree}")).toBe(tree);
    expect(await render(asked(name, { mode: "strict", since }))).toMatch(/^SignatureHistoryTooLong: .*1000 commits/);
  }, 30_000);
});

test("files and folders that sets are made from are judged as well", async () => {
  const name = await repository();
  const { repo, integrity } = asked(name);
  const look = () => bench.service.look({ repo, integrity, freshness: "hard", want: { include: ["*"], exclude: [] } });
  expect(await look()).toMatchObject({ kind: "stop", reason: "SignatureMissing" });
  await gpg.signTip(bare(name), keys.ana!);
  expect(await look()).toMatchObject({ kind: "done" });
});

test("who reads a commit is told how its signature is judged", async () => {
  const name = await repository();
  const commit = await gpg.signTip(bare(name), keys.ana!);
  const { source, repo } = bench.source(name);
  expect(await bench.service.revision({ repo, source, revision: "main", keyring })).toMatchObject({
    value: { revision: commit, signature: "Good", signer: "ana <ana@example.com>" },
  });
  expect(await bench.service.revision({ repo, source, revision: "main", keyring: {} })).toMatchObject({
    value: { signature: "UnknownKey", signer: keys.ana },
  });
});

test("no agent of gpg is left behind, and without gpg that is said by name", async () => {
  const running = readdirSync("/proc").filter((pid) => /^\d+$/.test(pid));
  const left = running.filter((pid) => {
    try {
      return (
        /gpg-agent|dirmngr|keyboxd/.test(readFileSync(`/proc/${pid}/cmdline`, "utf8")) &&
        readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("repo-bench-")
      );
    } catch {
      return false;
    }
  });
  expect(left).toEqual([]);
  const name = await repository();
  await gpg.signTip(bare(name), keys.ana!);
  await render({ ...asked(name), integrity: undefined });
  const path = process.env.PATH;
  try {
    process.env.PATH = "/nonexistent";
    // A set of keys that is new here; the commit itself is known.
    const request = {
      ...bench.request("none"),
      sources: [asked(name, {}, {}, { A: "x" })],
      freshness: "cached" as const,
    };
    expect(await bench.service.render(request)).toMatchObject({
      kind: "stop",
      reason: "ToolMissing",
      message: expect.stringMatching(/gpg/),
    });
  } finally {
    process.env.PATH = path;
  }
});
