import { type Bench, startBench } from "../testing.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.stop());

const words = "a".repeat(60);
/** A definition of about a megabyte, as large operators ship them. */
function definition(name: string): string {
  const inner = Array.from({ length: 20 }, (_, i) => `            g${i}: {type: string, description: ${words}}\n`).join(
    "",
  );
  const fields = Array.from(
    { length: 500 },
    (_, i) => `        f${i}:\n          type: object\n          properties:\n${inner}`,
  ).join("");
  return `apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: ${name}}\nspec:\n  versions:\n  - schema:\n      properties:\n${fields}`;
}
const overlay = (count: number) => {
  const names = Array.from({ length: count }, (_, i) => `c${i}`);
  return {
    "kustomization.yaml": `resources: [${names.map((name) => `${name}.yaml`).join()}]\nnamespace: a\n`,
    ...Object.fromEntries(names.map((name) => [`${name}.yaml`, definition(name)])),
  };
};

// Its resident memory stays below the bound; the address space that Go reserves for it is many times larger.
test("an overlay with large definitions renders each time", async () => {
  const name = await bench.repository(overlay(3));
  for (let i = 0; i < 3; i++) {
    const asked = bench.request(name, { kustomize: { commonAnnotations: { run: `${i}` } } });
    expect(await bench.names(asked)).toEqual(["c0", "c1", "c2"]);
  }
});

test("an overlay that takes more memory than the bound is ended by name", async () => {
  process.env.OUTPOST_RENDER_MEMORY_MIB = "64";
  try {
    const got = await bench.names(bench.request(await bench.repository(overlay(3))));
    expect(got).toMatch(
      /^SourceTooLarge: kustomize build of the root needs more than 64 MiB of memory; OUTPOST_RENDER_MEMORY_MIB/,
    );
  } finally {
    delete process.env.OUTPOST_RENDER_MEMORY_MIB;
  }
});
