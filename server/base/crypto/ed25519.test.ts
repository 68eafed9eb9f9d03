import { ed25519Signer, ed25519Verify, makeEd25519 } from "./ed25519.ts";

const pair = makeEd25519();
const signature = ed25519Signer(pair.seed)("text");
test.each<[string, [string, string, string], boolean]>([
  ["the signature of the text", [pair.publicKey, "text", signature], true],
  ["another text", [pair.publicKey, "texT", signature], false],
  ["another key", [makeEd25519().publicKey, "text", signature], false],
  ["a cut signature", [pair.publicKey, "text", signature.slice(1)], false],
  ["no key at all", ["", "text", signature], false],
  ["bytes that are no point", ["_".repeat(43), "text", signature], false],
  ["another spelling of the same bytes", [`${pair.publicKey}!`, "text", signature], false],
])("verify: %s", (_, given, want) => expect(ed25519Verify(...given)).toBe(want));
