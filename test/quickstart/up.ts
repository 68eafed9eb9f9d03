import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cacheRoot } from "../cluster/cache.ts";
import { buildAppImage, buildGuestbookImage } from "../cluster/image.ts";
import { type ClusterNode, findNode, startNode } from "../cluster/node.ts";
import { nodeTools } from "../cluster/recipes.ts";
import { terraformMirror, writeTerraformConfig } from "../cluster/terraform.ts";
import { buildTools, type Programs } from "../cluster/tools.ts";
import { begin, type Step } from "../progress.mjs";
import { BareRepository } from "../servers/git-repo.ts";
import { accepts, freePort } from "../servers/run.ts";
import { runLogged } from "../setup.mjs";
import { runs, startBackground, stopBackground } from "./background.ts";
import { signIn } from "./context.ts";
import { adminKey, serviceCommand, serviceEnv, serviceReady } from "./service.ts";
import { IN_CLUSTER, outpost, show, whatIsNotReady } from "./show.ts";
import type { Memory, OwnCluster } from "./state.ts";
import { applyNote, copyExample, terraform, terraformErrors } from "./terraform.ts";

export interface Options {
  root: string;
  memory: Memory;
  port: number;
  own?: OwnCluster;
  signal: AbortSignal;
}

/** From whatever is there to an application that is Synced and Healthy. Each step looks first whether its work is done. */
export async function up(o: Options): Promise<number> {
  const { root, memory } = o;
  memory.remember({ port: o.port, ...(o.own ? { own: o.own } : {}) });
  const say = <T>(title: string, work: (step: Step) => Promise<T>) => doing(o, title, work);

  await say("Generate the contract's code", (step) => generate(o, step));
  await say("Build the programs and the provider", async () => {
    await runLogged(root, ["npm", "run", "-s", "build"], memory.path("logs/build.log"), 10);
  });
  const programs = await say("Find or build the cluster's tools", async (step) => {
    const built = await buildTools((line) => step.note(line), o.own ? ["terraform-provider-helm"] : undefined);
    return built;
  });
  const mirror = await terraformMirror(programs);
  const cluster = o.own ?? (await say("Start the local cluster", (step) => localCluster(o, programs, step)));
  await say("Start the sample Git server", (step) => gitServer(o, step));
  await say("Start the service", (step) => service(o, step));
  if (!o.own) {
    const node = cluster as ClusterNode;
    await node.expose(o.port, "outpost.localhost");
    await node.expose(memory.state.gitPort!, IN_CLUSTER);
  }
  await signIn((...args) => outpost(root, args), memory, addressOf(o));
  await apply(o, mirror);
  return show(root, memory);
}

export const addressOf = (o: Pick<Options, "own" | "port">): string =>
  o.own?.address ?? `http://outpost.localhost:${o.port}`;

async function doing<T>(o: Options, title: string, work: (step: Step) => Promise<T>): Promise<T> {
  if (o.signal.aborted) throw new Error("stopped");
  const step = begin(title);
  try {
    const value = await work(step);
    step.done();
    return value;
  } catch (error) {
    step.fail();
    throw error;
  }
}

async function generate(o: Options, step: Step): Promise<void> {
  const hash = createHash("sha256");
  for (const dir of ["openapi/spec", "openapi/generate"])
    for (const file of readdirSync(join(o.root, dir)).sort()) hash.update(readFileSync(join(o.root, dir, file)));
  const digest = hash.digest("hex");
  if (o.memory.state.generated === digest && existsSync(join(o.root, "openapi/contract/openapi.json")))
    return step.skip("nothing changed");
  await runLogged(o.root, ["npm", "run", "-s", "generate"], o.memory.path("logs/generate.log"), 5);
  o.memory.remember({ generated: digest });
}

async function localCluster(o: Options, programs: Programs, step: Step): Promise<ClusterNode> {
  // Socket paths are short: the folder cannot be below a checkout with a long name.
  const dir =
    o.memory.state.nodeDir ??
    join(cacheRoot(), "nodes", `quickstart-${createHash("sha256").update(o.memory.dir).digest("hex").slice(0, 6)}`);
  o.memory.remember({ nodeDir: dir });
  const note = (line: string) => step.note(line);
  const images = [
    await buildGuestbookImage(programs, note),
    await buildAppImage({ version: imageVersion(o.root), files: join(o.root, "dist"), programs, progress: note }),
  ];
  const reused = findNode(dir) !== undefined;
  const node = await startNode({ name: "quickstart", dir, progress: note, images });
  step.done(
    reused ? "reused, images brought up to date" : `real Kubernetes ${nodeTools.length ? "of one node" : ""}`.trim(),
  );
  return node;
}

async function gitServer(o: Options, step: Step): Promise<void> {
  const { memory } = o;
  const root = memory.path("git");
  const secret = memory.path("git-password");
  mkdirSync(root, { recursive: true });
  if (!existsSync(secret)) writeFileSync(secret, randomBytes(18).toString("base64url"), { mode: 0o600 });
  const repository = new BareRepository(root, "guestbook");
  await repository.create("main");
  if (!(await repository.tip("refs/heads/main")))
    await repository.commit(sampleFiles(join(o.root, "examples/01-quickstart/guestbook")), "Add the guestbook", {
      branch: "main",
    });
  if (runs(memory.state.git)) return step.skip("reused");
  const port = memory.state.gitPort ?? (await freePort());
  memory.remember({ gitPort: port });
  const host = o.own ? new URL(o.own.address).hostname : "127.0.0.1";
  const command = [
    process.execPath,
    "--import",
    "tsx",
    join(o.root, "test/quickstart/git.ts"),
    root,
    String(port),
    host,
    secret,
  ];
  // Node resolves --import from its working folder.
  const git = await startBackground(
    "git",
    command,
    o.root,
    process.env,
    () => accepts({ port, host }),
    memory.path("logs"),
  );
  memory.remember({ git });
}

async function service(o: Options, step: Step): Promise<void> {
  const { memory, root, port } = o;
  const dir = memory.path("service");
  const host = o.own ? new URL(o.own.address).hostname : "127.0.0.1";
  const built = digestOf(join(root, "dist/outpost.mjs"));
  const same = memory.state.built === built;
  if (runs(memory.state.service) && same && (await serviceReady(port, host))) return step.skip("reused");
  await stopBackground(memory.state.service);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const env = serviceEnv({ root, dir, port, host, publicUrl: addressOf(o) });
  const started = await startBackground(
    "service",
    serviceCommand(root),
    memory.dir,
    env,
    () => serviceReady(port, host),
    memory.path("logs"),
  );
  memory.remember({ service: started, built });
  if (!adminKey(dir)) throw new Error("the service has started but wrote no admin key");
}

/** The build is part of it, so that pods of an older build are replaced. */
const imageVersion = (root: string): string =>
  `${JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version}-${digestOf(join(root, "dist/outpost.mjs")).slice(0, 8)}`;

const digestOf = (file: string): string => createHash("sha256").update(readFileSync(file)).digest("hex");

/** The files of a folder, as a commit takes them. */
function sampleFiles(dir: string, under = "guestbook"): Record<string, string> {
  return Object.fromEntries(
    readdirSync(dir).map((name) => [`${under}/${name}`, readFileSync(join(dir, name), "utf8")]),
  );
}

async function apply(o: Options, mirror: string): Promise<void> {
  const { memory, root } = o;
  const dir = memory.path("terraform");
  // As deep below the root as the example itself, so that its relative paths stay right.
  copyExample(join(root, "examples/01-quickstart"), dir);
  const env = await terraformEnv(o, mirror);
  // A registry never serves two packages of one version; a build here does, and the lock file would rightly refuse the second.
  const built = join(root, "dist/terraform-provider-outpost");
  const scripts = readdirSync(built).filter((name) => name.endsWith(".cjs"));
  const provider = scripts
    .sort()
    .map((name) => digestOf(join(built, name)))
    .join();
  if (memory.state.provider !== provider) rmSync(join(dir, ".terraform.lock.hcl"), { force: true });
  memory.remember({ provider });
  await doing(o, "terraform init", async () => {
    const ran = await terraform(dir, ["init", "-input=false", "-no-color"], env, memory.path("logs/terraform.log"));
    if (ran.code !== 0) throw new Error(terraformErrors(ran.output));
  });
  await doing(o, "terraform apply", async (step) => {
    const note = applyNote();
    memory.remember({ applied: true });
    const ran = await terraform(
      dir,
      ["apply", "-input=false", "-no-color", "-auto-approve"],
      env,
      memory.path("logs/terraform.log"),
      (line) => {
        const text = note(line);
        if (text) step.note(text);
      },
    );
    if (ran.code !== 0) throw new Error(`${terraformErrors(ran.output)}\n\n${await whatIsNotReady(memory)}`.trim());
    step.done(/Apply complete! Resources: (.*)\./.exec(ran.output)?.[1] ?? "");
  });
}

/** What terraform needs: the providers' mirrors, the service, and the example's variables. */
export async function terraformEnv(
  o: Pick<Options, "memory" | "root" | "own" | "port">,
  mirror: string,
): Promise<NodeJS.ProcessEnv> {
  const { memory, root } = o;
  const config = await writeTerraformConfig(memory.path("terraform.rc"), { mirror, own: join(root, "dist/mirror") });
  const gitHost = o.own ? new URL(o.own.address).hostname : IN_CLUSTER;
  const variables = {
    kubeconfig: o.own?.kubeconfig ?? join(memory.state.nodeDir!, "kubeconfig"),
    kube_context: o.own?.context ?? "",
    endpoint: addressOf(o),
    image: o.own?.image ?? `outpost.local/outpost:${imageVersion(root)}`,
    repository_url: `http://${gitHost}:${memory.state.gitPort}/guestbook.git`,
    repository_username: "outpost",
    repository_password: readFileSync(memory.path("git-password"), "utf8").trim(),
  };
  // The stack's variables, for a plan or an apply by hand; one of them is a password.
  const named = Object.fromEntries(Object.entries(variables).map(([name, value]) => [`TF_VAR_${name}`, value]));
  writeFileSync(memory.path("variables.json"), JSON.stringify(named, null, 2), { mode: 0o600 });
  return {
    ...config,
    OUTPOST_ENDPOINT: addressOf(o),
    OUTPOST_API_KEY: adminKey(memory.path("service")) ?? "",
    ...named,
  };
}
