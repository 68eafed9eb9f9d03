import { rotated, statusAfterChange, validSecrets } from "./webhook.ts";

const now = new Date("2026-03-01T12:00:00.000Z");
const ago = (minutes: number) => new Date(now.getTime() - minutes * 60_000).toISOString();
const later = (ms: number) => new Date(now.getTime() + ms).toISOString();
const previous = {
  secretKey: "k2",
  secretRotation: 3,
  previousSecretVersion: 1,
  previousSecretKey: "k1",
  previousSecretRotation: 2,
};
const CURRENT = { key: "k2", version: 1, rotation: 3 };
const BEFORE = { key: "k1", version: 1, rotation: 2 };

test.each([
  ["that was never rotated", {}, [{ key: undefined, version: 1, rotation: 0 }]],
  ["made with a key of its own", { secretKey: "k1" }, [{ key: "k1", version: 1, rotation: 0 }]],
  ["in an overlap", { ...previous, previousSecretUntil: later(1) }, [CURRENT, BEFORE]],
  ["whose overlap ends now", { ...previous, previousSecretUntil: later(0) }, [CURRENT]],
  ["without an overlap", { secretKey: "k2", secretRotation: 3 }, [CURRENT]],
  [
    "changed by an older version of the service 59 minutes ago",
    { secretChangedAt: ago(59), previousSecretVersion: 4 },
    [
      { key: undefined, version: 1, rotation: 0 },
      { key: undefined, version: 4, rotation: 0 },
    ],
  ],
  [
    "changed by an older version of the service an hour ago",
    { secretChangedAt: ago(60), previousSecretVersion: 4 },
    [{ key: undefined, version: 1, rotation: 0 }],
  ],
])("the valid secrets of a webhook %s", (_, status, want) => {
  expect(validSecrets({}, status, now)).toEqual(want);
});

test("a rotation keeps one secret before it and forgets older ones", () => {
  const first = rotated(
    { spec: { secretVersion: 5 }, status: { lastOutcome: "Accepted" } },
    { key: "k1", now, overlapMs: 1 },
  );
  expect(first).toEqual({
    lastOutcome: "Accepted",
    secretKey: "k1",
    secretRotation: 1,
    secretChangedAt: later(0),
    previousSecretVersion: 5,
    previousSecretRotation: 0,
    previousSecretUntil: later(1),
  });
  const second = rotated({ spec: { secretVersion: 5 }, status: first }, { key: "k2", now, overlapMs: 0 });
  expect(second).toEqual({ lastOutcome: "Accepted", secretKey: "k2", secretRotation: 2, secretChangedAt: later(0) });
});

test("only another secretVersion rotates, and no default counts as a change", () => {
  const before = { spec: {}, status: { secretKey: "k1" } };
  expect(statusAfterChange(before, { secretVersion: 1 }, { key: "k2", now })).toBe(before.status);
  expect(statusAfterChange(before, { secretVersion: 2 }, { key: "k2", now })).toMatchObject({
    secretKey: "k2",
    secretRotation: 1,
    previousSecretKey: "k1",
    previousSecretUntil: later(3_600_000),
  });
});
