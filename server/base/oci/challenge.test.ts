import { readChallenge, tokenOf } from "./challenge.ts";

test.each<[string, object]>([
  [
    'Bearer realm="https://auth.h/token",service="registry.h",scope="repository:a/b:pull"',
    {
      basic: false,
      bearer: true,
      realm: "https://auth.h/token",
      service: "registry.h",
      scope: "repository:a/b:pull",
    },
  ],
  ['Basic realm="h"', { basic: true, bearer: false, realm: "h" }],
  ['bearer Realm="https://h/t", Basic realm="h"', { basic: true, bearer: true, realm: "https://h/t" }],
  ["Negotiate", { basic: false, bearer: false }],
  ["", { basic: false, bearer: false }],
])("the challenge %s is read", (text, want) => {
  expect(readChallenge(text)).toEqual({
    realm: undefined,
    service: undefined,
    scope: undefined,
    text,
    ...want,
  });
});

test.each<[string, string | undefined]>([
  ['{"token":"abc"}', "abc"],
  ['{"access_token":"def"}', "def"],
  ['{"token":"","access_token":"def"}', "def"],
  ['{"token":"with a line\\nand more"}', undefined],
  ['{"token":7}', undefined],
  ["no JSON", undefined],
])("the token in %s", (text, want) => {
  expect(tokenOf(Buffer.from(text))).toBe(want);
});
