import { paramFaults } from "./params.ts";

const git = { git: { url: "https://h/r" } };
const secret = "${secret:vault/db#password}";

describe("a reference to a secret is refused where it could not be put in, at its own place", () => {
  for (const [name, kind, params, pointer, says] of [
    ["a script", "shell.run", { script: `echo ${secret}` }, "/script", "give the secret in `env`"],
    [
      "a name",
      "shell.run",
      { script: "true", env: { [secret]: "a" } },
      "/env/${secret:vault~1db#password}",
      "never in a name",
    ],
    ["a pattern", "git.clone", { url: "https://h/r", revision: secret }, "/revision", "has a form of its own"],
    [
      "a list of words",
      "kubernetes.rollout",
      { kind: secret, name: "a", action: "undo" },
      "/kind",
      "has a form of its own",
    ],
    [
      "no path",
      "shell.run",
      { script: "true", env: { A: "${secret:vault}" } },
      "/env/A",
      "must be ${secret:SOURCE/PATH}",
    ],
    [
      "no end",
      "shell.run",
      { script: "true", env: { A: `${secret}${"${secret:"}` } },
      "/env/A",
      "must be ${secret:SOURCE/PATH}",
    ],
    [
      "deep in free values",
      "terraform.plan",
      { source: git, variables: { a: [{ b: "${secret:X/y}" }] } },
      "/variables/a/0/b",
      "must be",
    ],
    [
      "with an expression beside it",
      "shell.run",
      { script: `\${{ inputs.a }} ${secret}` },
      "/script",
      "give the secret in `env`",
    ],
  ] as const)
    test(name, () => {
      const [fault, ...more] = paramFaults(kind, params, (text) => text.includes("${{"));
      expect(more).toEqual([]);
      expect(fault).toMatchObject({ pointer, detail: expect.stringContaining(says) });
    });
});

test("a reference may stand in free texts, and its characters may be meant themselves", () => {
  for (const text of [secret, `a${secret}b${secret}`, "$${secret:", `$\${secret:x} ${secret}`])
    expect(paramFaults("shell.run", { script: "true", env: { A: text } })).toEqual([]);
  expect(paramFaults("terraform.plan", { source: git, variables: { a: [{ b: secret }] } })).toEqual([]);
});
