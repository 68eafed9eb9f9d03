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
  const { able, lacking } = await capabilities({ PATH: "/nonexistent" });
  expect([...able, ...lacking.map(({ kind }) => kind)].sort()).toEqual(Object.keys(KINDS).sort());
  // Kinds that are made of libraries alone.
  for (const kind of [
    "shell.run",
    "http.request",
    "artifact.upload",
    "image.push",
    "registry.login",
    "ecr.login",
    "ecs.deploy",
  ])
    expect(able).toContain(kind);
  expect(lacking).toContainEqual({ kind: "git.clone", why: "git is not installed" });
  // 256 is the contract's length.
  expect(lacking.filter(({ why }) => !/is not installed/.test(why) || why.length > 256)).toEqual([]);
  expect((await capabilities(process.env)).able).toEqual(expect.arrayContaining(["git.clone", "shell.run"]));
});
