import { readFileSync } from "node:fs";
import { capabilities, KINDS, tryKind } from "./table.ts";

test("every kind of the contract is here", () => {
  const contract = JSON.parse(readFileSync(new URL("../../../openapi/contract/openapi.json", import.meta.url), "utf8"));
  expect(Object.keys(KINDS).sort()).toEqual([...contract.components.schemas.TaskKind.enum].sort());
});

test("a kind is found by its own name only", () => {
  expect([tryKind("shell.run") !== undefined, tryKind("toString"), tryKind("__proto__"), tryKind("")]).toEqual([
    true,
    undefined,
    undefined,
    undefined,
  ]);
});

test("what is not installed is not offered, and said", async () => {
  expect(await capabilities({ PATH: "/nonexistent" })).toEqual({
    able: ["shell.run"],
    lacking: [{ kind: "git.clone", why: "git is not installed" }],
  });
  expect((await capabilities(process.env)).able.sort()).toEqual(["git.clone", "shell.run"]);
});
