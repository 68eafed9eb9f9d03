import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { terraformMirror, writeTerraformConfig } from "../../test/cluster/terraform.ts";
import { buildTools } from "../../test/cluster/tools.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const own = join(root, "dist/mirror");
const examples = ["examples/01-quickstart", "examples/04-platform", "examples/05-own-argocd"];
let work: string;
let env: NodeJS.ProcessEnv;

/** A copy of what is tested, so that `terraform init` leaves nothing in the tree, with the providers as a registry serves them. */
beforeAll(async () => {
  if (!existsSync(own)) throw new Error("dist/mirror is missing: npm run build");
  work = mkdtempSync(join(tmpdir(), "outpost-hcl-"));
  for (const folder of ["modules/hcl", "modules/charts", ...examples])
    cpSync(join(root, folder), join(work, folder), { recursive: true });
  const programs = await buildTools(() => {}, ["terraform-provider-helm", "terraform-provider-kubernetes"]);
  const config = await writeTerraformConfig(join(work, "terraform.rc"), {
    mirror: await terraformMirror(programs),
    own,
  });
  env = { ...process.env, ...config };
}, 120_000);
afterAll(() => rmSync(work, { recursive: true, force: true }));

const terraform = (folder: string, ...args: string[]) =>
  execFileSync("terraform", args, {
    cwd: folder,
    env,
    encoding: "utf8",
    timeout: 240_000,
    stdio: ["ignore", "pipe", "pipe"],
  });
const initialise = (folder: string) => terraform(folder, "init", "-input=false", "-no-color");
const modules = () =>
  readdirSync(join(work, "modules/hcl"), { withFileTypes: true })
    .filter((d) => d.isDirectory())
    .map((d) => join("modules/hcl", d.name));

test("modules and examples are formatted", () => {
  expect(terraform(join(root, "modules/hcl"), "fmt", "-check", "-recursive", "-diff")).toBe("");
  expect(terraform(join(root, "examples"), "fmt", "-check", "-recursive", "-diff")).toBe("");
});

test("modules and examples are valid, without a warning, with the providers from a mirror", () => {
  for (const folder of [...modules(), ...examples]) {
    initialise(join(work, folder));
    expect([folder, JSON.parse(terraform(join(work, folder), "validate", "-json"))]).toEqual([
      folder,
      expect.objectContaining({ valid: true, diagnostics: [] }),
    ]);
  }
}, 120_000);

test("the CDKTF example synthesises by plain node to what plain terraform takes", () => {
  const out = join(work, "cdktf.out");
  mkdirSync(out);
  const main = join(root, "examples/02-cdktf/main.ts");
  execFileSync(process.execPath, ["--import", "tsx", main], {
    cwd: root,
    env: { ...env, CDKTF_OUTDIR: out },
    timeout: 240_000,
  });
  const stack = join(out, "stacks/quickstart");
  initialise(stack);
  expect(JSON.parse(terraform(stack, "validate", "-json"))).toMatchObject({ valid: true, diagnostics: [] });
  expect(readFileSync(join(stack, "cdk.tf.json"), "utf8")).not.toContain(root);
}, 120_000);

test("a wrong value is refused by the module itself", () => {
  const folder = join(work, "wrong");
  cpSync(join(work, "modules/hcl/agent"), folder, { recursive: true });
  rmSync(join(folder, ".terraform"), { recursive: true, force: true });
  initialise(folder);
  const plan = () =>
    terraform(
      folder,
      "plan",
      "-input=false",
      "-no-color",
      "-var=id=a",
      "-var=endpoint=https://o.example",
      "-var=mode=both",
    );
  expect(plan).toThrow(/Must be one of split, all/);
}, 120_000);

test("every variable and output has a description, and the README names it", () => {
  for (const folder of modules()) {
    const readme = readFileSync(join(work, folder, "README.md"), "utf8");
    for (const file of ["variables.tf", "outputs.tf"]) {
      const blocks = readFileSync(join(work, folder, file), "utf8")
        .split(/^(?=variable|output)/m)
        .slice(1);
      expect(blocks.length).toBeGreaterThan(0);
      for (const block of blocks) {
        expect(block).toMatch(/^ {2}description = "./m);
        expect(readme).toContain(`| ${/"(\w+)"/.exec(block)![1]} |`);
      }
    }
  }
});
