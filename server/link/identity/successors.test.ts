import { type Keys, makeKeys, sign } from "./keys.ts";
import { follow, MAX_SUCCESSORS, SUCCESSION } from "./successors.ts";
import { pinOf } from "./token.ts";

let keys: Keys[];
beforeAll(async () => {
  keys = await Promise.all(Array.from({ length: MAX_SUCCESSORS + 2 }, () => makeKeys()));
});

const key = (i: number) => keys[i]!.signKey;
const link = (from: number, to: number, signer = from) => ({
  from: key(from),
  to: key(to),
  signature: sign(keys[signer]!.signSeed, `outpost/successor/v1\n${key(to)}`),
});
const chain = (length: number) => Array.from({ length }, (_, i) => link(i, i + 1));
const told = (known: number, links: unknown, greeting: number) => {
  const answer = follow((one) => one === key(known), links, key(greeting));
  return answer.kind === "done" ? answer.value : answer.reason;
};

test("a key that is known leads to the one that greets through all that were named since, from wherever it stands in the chain", () => {
  for (const known of [0, 1, 3]) expect(told(known, chain(4), 4)).toBe(true);
  expect(told(0, chain(MAX_SUCCESSORS), MAX_SUCCESSORS)).toBe(true);
  const pinned = follow((one) => pinOf(one) === pinOf(key(1)), chain(4), key(4));
  expect(pinned).toEqual({ kind: "done", value: true });
});

test("a chain that does not begin with the known key names nobody, nor does the newest key name an older one", () => {
  expect(told(9, chain(4), 4)).toBe(false);
  expect(told(0, [], 4)).toBe(false);
  expect(told(0, undefined, 4)).toBe(false);
  expect(told(4, chain(4), 2)).toBe(false);
});

test.each<[string, string, () => unknown, number]>([
  ["a link is missing", SUCCESSION.broken, () => [link(0, 1), link(2, 3)], 3],
  ["it ends at another key than the one that greets", SUCCESSION.broken, () => chain(3), 4],
  ["it stops before the one that greets", SUCCESSION.broken, () => chain(2), 3],
  ["it comes back to where it was", SUCCESSION.loop, () => [link(0, 1), link(1, 0), link(0, 2)], 2],
  ["a key names itself", SUCCESSION.loop, () => [link(0, 0)], 0 + 1],
  ["another key has signed", SUCCESSION.signature, () => [link(0, 1), link(1, 2, 5)], 2],
  ["the new key has signed itself", SUCCESSION.signature, () => [link(0, 1, 1)], 1],
  [
    "the signature is of another statement",
    SUCCESSION.signature,
    () => [{ ...link(0, 1), signature: sign(keys[0]!.signSeed, key(1)) }],
    1,
  ],
  ["it is longer than a service sends", SUCCESSION.many, () => chain(MAX_SUCCESSORS + 1), MAX_SUCCESSORS + 1],
  ["it is not a list", SUCCESSION.many, () => ({ 0: link(0, 1) }), 1],
  ["a link has no signature", SUCCESSION.shape, () => [{ from: key(0), to: key(1) }], 1],
  ["a link is nothing", SUCCESSION.shape, () => [null], 1],
])("a chain is refused when %s", (_, reason, links, greeting) => {
  expect(told(0, links(), greeting)).toBe(reason);
});
