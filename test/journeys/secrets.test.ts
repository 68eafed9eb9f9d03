import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { whole } from "../../openapi/client.ts";
import { type World, world } from "../world.ts";

let w: World;
beforeAll(async () => {
  w = await world();
});

/** A secret as it could stand in a text: raw, base64 in its three alignments, percent-encoded. */
function forms(secret: string): string[] {
  const inner = [0, 1, 2].map((shift) => {
    const text = Buffer.from("x".repeat(shift) + secret).toString("base64");
    return text.slice(shift ? 4 : 0, -4);
  });
  return [...new Set([secret, encodeURIComponent(secret), ...inner])].filter((f) => f.length >= 12);
}

test("terraform's state and plan hold no secret", async () => {
  const secrets = [w.gitPassword, w.apiKey, "ot1_"];
  const state = await w.terraform(w.stack, "show", "-json");
  const saved = join(w.stack, "canary.tfplan");
  await w.terraform(w.stack, "plan", `-out=${saved}`, "-replace=outpost_repository.code");
  const plan = await w.terraform(w.stack, "show", "-json", saved);
  expect([state.code, plan.code]).toEqual([0, 0]);
  for (const text of [
    state.output,
    plan.output,
    readFileSync(join(w.stack, "terraform.tfstate"), "utf8"),
    readFileSync(saved, "latin1"),
  ])
    for (const secret of secrets) for (const form of forms(secret)) expect(text.includes(form)).toBe(false);
});

test("the service's store and every log hold no credential of a repository", async () => {
  const folder = join(w.stack, "..");
  const hits = files(join(folder, "service"))
    .concat(files(join(folder, "logs")))
    .filter((file) => forms(w.gitPassword).some((form) => readFileSync(file, "latin1").includes(form)));
  expect(hits).toEqual([]);
  for (const name of ["agent", "controller", "repo-server"]) {
    const logs = await w.cluster.kubectl(
      "-n",
      "outpost-agent",
      "logs",
      "-l",
      `app.kubernetes.io/component=${name}`,
      "--tail=-1",
    );
    expect(logs.includes(w.gitPassword)).toBe(false);
  }
});

test("the API and the audit trail give none away", async () => {
  const { data: repositories } = await w.api.GET("/v1/repositories");
  const { data: audit } = await w.api.GET("/v1/audit", { params: { query: { limit: 500 } } });
  const text = JSON.stringify([repositories, audit]);
  for (const form of forms(w.gitPassword)) expect(text.includes(form)).toBe(false);
  expect(whole(repositories!.items)[0]!.status.credentials).toBe("Delivered");
});

function files(dir: string): string[] {
  return readdirSync(dir).flatMap((name) => {
    const path = join(dir, name);
    return statSync(path).isDirectory() ? files(path) : [path];
  });
}
