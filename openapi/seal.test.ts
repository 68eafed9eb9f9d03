import { audienceOf, type SealContext } from "./audience.ts";
import { generateSealKeys, open, type SealedEnvelope, seal } from "./seal.ts";

const context: SealContext = { account: "a", org: "o", collection: "repositories", id: "r" };
const spec = { url: "https://git.example/a.git", proxy: "http://proxy.example:3128" };

async function sealed() {
  const keys = await generateSealKeys();
  return { keys, envelope: await seal({ id: "k", publicKey: keys.publicKey }, context, spec, { password: "p" }) };
}

test("what is sealed opens with the key and the object it was sealed for", async () => {
  const { keys, envelope } = await sealed();
  expect(envelope).toMatchObject({
    keyId: "k",
    id: expect.stringMatching(/^[A-Za-z0-9_-]{22}$/),
    audience: audienceOf("repositories", spec),
  });
  expect(JSON.stringify(envelope)).not.toContain("password");
  expect(await open(keys.privateKey, context, envelope)).toEqual({ password: "p" });
});

test.each<[string, Partial<SealContext>]>([
  ["another object", { id: "x" }],
  ["another scope", { org: undefined }],
  ["another collection", { collection: "clusters" }],
])("an envelope moved to %s does not open", async (_, change) => {
  const { keys, envelope } = await sealed();
  await expect(open(keys.privateKey, { ...context, ...change }, envelope)).rejects.toThrow();
});

test.each<[string, (envelope: SealedEnvelope) => Partial<SealedEnvelope>]>([
  ["id", () => ({ id: "A".repeat(22) })],
  ["id taken away", () => ({ id: undefined as never })],
  ["host", ({ audience }) => ({ audience: { ...audience, host: "evil.example" } })],
  ["proxy", ({ audience }) => ({ audience: { ...audience, proxy: "http://evil.example" } })],
  ["further part", ({ audience }) => ({ audience: { ...audience, insecure: "true" } })],
  ["audience taken away", () => ({ audience: undefined as never })],
])("an envelope with another %s does not open", async (_, change) => {
  const { keys, envelope } = await sealed();
  await expect(open(keys.privateKey, context, { ...envelope, ...change(envelope) })).rejects.toThrow();
});

test("two envelopes of the same credentials have two ids", async () => {
  const [one, other] = [await sealed(), await sealed()];
  expect(one.envelope.id).not.toBe(other.envelope.id);
});
