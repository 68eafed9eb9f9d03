import { generateSealKeys, open, type SealContext, seal } from "./seal.ts";

const context: SealContext = { account: "a", org: "o", collection: "repositories", id: "r" };

test("what is sealed opens with the key and the object it was sealed for", async () => {
  const keys = await generateSealKeys();
  const envelope = await seal({ id: "k", publicKey: keys.publicKey }, context, { password: "p" });
  expect(envelope.keyId).toBe("k");
  expect(JSON.stringify(envelope)).not.toContain("password");
  expect(await open(keys.privateKey, context, envelope)).toEqual({ password: "p" });
});

test.each<[string, Partial<SealContext>]>([
  ["another object", { id: "x" }],
  ["another scope", { org: undefined }],
  ["another collection", { collection: "clusters" }],
])("an envelope moved to %s does not open", async (_, change) => {
  const keys = await generateSealKeys();
  const envelope = await seal({ id: "k", publicKey: keys.publicKey }, context, { password: "p" });
  await expect(open(keys.privateKey, { ...context, ...change }, envelope)).rejects.toThrow();
});
