import { parseToken, pinOf } from "./token.ts";

const seed = `${"A_b-".repeat(10)}A_b`;
const pin = "_-Zz".repeat(8);

const table: [string, { given: string; want: { id: string; seed: string; pin: string } | string }][] = [
  ["a token", { given: `ot1_t-1_${seed}_${pin}`, want: { id: "t-1", seed, pin } }],
  ["a token with a line break at its end", { given: `ot1_t1_${seed}_${pin}\n`, want: { id: "t1", seed, pin } }],
  ["nothing", { given: "", want: "TokenMalformed" }],
  ["another prefix", { given: `ot2_t1_${seed}_${pin}`, want: "TokenMalformed" }],
  ["an API key", { given: "opk_default_abc", want: "TokenMalformed" }],
  ["a cut token", { given: `ot1_t1_${seed}_${pin.slice(1)}`, want: "TokenMalformed" }],
  ["a token with a space within", { given: `ot1_t1_${seed} _${pin}`, want: "TokenMalformed" }],
  ["a token with a long id", { given: `ot1_${"a".repeat(129)}_${seed}_${pin}`, want: "TokenMalformed" }],
];
test.each(table)("reads %s", (_name, { given, want }) => {
  const got = parseToken(given);
  if (typeof want === "string") expect(got).toMatchObject({ kind: "stop", reason: want });
  else if (got.kind === "done") expect({ ...got.value, seed: got.value.seed.reveal() }).toEqual(want);
  else throw new Error(got.message);
});
test("a token's seed is not printed", () => {
  expect(JSON.stringify(parseToken(`ot1_t1_${seed}_${pin}`))).not.toContain(seed);
});
test("a pin is the start of the key's hash", () => {
  expect(pinOf(Buffer.alloc(32).toString("base64url"))).toBe("Zmh6rfhivXdsj8GLjp-OIAiXFIVu4jOz");
});
