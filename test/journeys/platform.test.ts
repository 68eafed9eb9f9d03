import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createCertificate } from "../../provider/protocol/certificate.ts";
import { until } from "../servers/run.ts";
import { settled, type World, world } from "../world.ts";

let w: World;
let stack: string;
const example = () => join(w.root, "examples/04-platform");
const apps = (): string[] =>
  readdirSync(join(example(), "apps"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".yaml"))
    .map((name) => `apps/${name}`);
const terraform = async (...args: string[]): Promise<string> => {
  const ran = await w.terraform(stack, ...args);
  if (ran.code !== 0) throw new Error(ran.output);
  return ran.output;
};

beforeAll(async () => {
  w = await world();
  stack = join(dirname(w.stack), "platform");
  rmSync(stack, { recursive: true, force: true });
  mkdirSync(stack, { recursive: true });
  for (const name of readdirSync(example()).filter((name) => name.endsWith(".tf")))
    cpSync(join(example(), name), join(stack, name));
  writeFileSync(
    join(stack, "terraform.tfvars.json"),
    JSON.stringify({
      repository_url: w.repositoryUrl,
      repository_username: "outpost",
      repository_password: w.gitPassword,
      git_authority: createCertificate().pem,
    }),
    { mode: 0o600 },
  );
  await w.repository.commit(
    Object.fromEntries(apps().map((name) => [name, readFileSync(join(example(), name), "utf8")])),
    "a platform",
  );
  await terraform("init");
});
afterAll(async () => {
  const all = [...apps(), "apps/catalog/note.yaml"];
  await w.repository.commit(Object.fromEntries(all.map((name) => [name, null])), "no platform");
  rmSync(stack, { recursive: true, force: true });
});

const pods = async (namespace: string): Promise<string> =>
  w.cluster.kubectl("-n", namespace, "get", "pods", "-o", "name");

interface Deployment {
  service: { id: string };
  environment: { id: string };
  application: string;
  outcome: string;
  cause: string;
  revision: string;
  images: string[];
}

const deployments = async (service: string): Promise<Deployment[]> =>
  (JSON.parse((await w.cli("service", "deployments", service, "-o", "json")).out) as { items: Deployment[] }).items;

/** The matrix shows both services in production; a commit is one more deployment of each, and is recorded once. */
async function seesWhatRunsWhere(): Promise<void> {
  const matrix = (await w.cli("service", "matrix")).out;
  expect(matrix).toMatch(/^SERVICE +PRODUCTION\ncatalog +[0-9a-f]{12} 1\/1\ncheckout +[0-9a-f]{12} 1\/1\n$/);
  const before = await deployments("catalog");
  expect(before).toMatchObject([
    {
      service: { id: "catalog" },
      environment: { id: "production" },
      application: "shop-catalog",
      outcome: "Succeeded",
    },
  ]);
  const revision = await w.repository.commit({ "apps/catalog/note.yaml": NOTE }, "one more object");
  await w.cli("app", "refresh", "shop-catalog");
  const after = await until("the deployment of the commit", async () => {
    const found = await deployments("catalog");
    return found.length > before.length && found;
  });
  expect(after).toMatchObject([
    { revision, outcome: "Succeeded", cause: "Automated", images: before[0]!.images },
    before[0],
  ]);
  expect((await w.cli("service", "deployments", "catalog", "--outcome", "Failed")).out).toBe("");
}

const NOTE = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: note }\n";

test("one apply makes a project with its credentials and an application for each folder, Synced and Healthy; destroy leaves nothing", async () => {
  expect(await terraform("apply", "-auto-approve")).toContain("8 added, 0 changed, 0 destroyed");
  const applications = JSON.parse(await terraform("output", "-json")).applications.value;
  expect(applications).toEqual({ "shop-catalog": "Synced, Healthy", "shop-checkout": "Synced, Healthy" });
  for (const name of ["catalog", "checkout"]) expect(await pods(`shop-${name}`)).toMatch(new RegExp(`^pod/${name}-`));
  expect(await terraform("plan", "-detailed-exitcode")).toContain("No changes");
  expect(readFileSync(join(stack, "terraform.tfstate"), "utf8")).not.toContain(w.gitPassword);

  const { out } = await w.cli("appset", "list");
  expect(out).toMatch(/shop\s+quickstart\s+2\/2\s+Healthy/);
  // The quickstart's own application is in another project, and has nothing to do with this one.
  expect(settled(await w.application("guestbook"))).toBe(true);

  await seesWhatRunsWhere();

  expect(await terraform("destroy", "-auto-approve")).toContain("8 destroyed");
  const namespaces = await until("the namespaces' end", async () => {
    const names = await w.cluster.kubectl("get", "namespaces", "-o", "name");
    return !names.includes("shop-") && names;
  });
  expect(namespaces).toContain("guestbook");
  const agent = await w.cluster.kubectl(
    "-n",
    "outpost-agent",
    "get",
    "applications,applicationsets,appprojects,secrets,configmaps",
    "-o",
    "yaml",
  );
  expect(agent).not.toMatch(/shop-c|name: (shop|repocreds-shop)$|BEGIN CERTIFICATE-----[\s\S]*git\.outpost\.test/m);
});
