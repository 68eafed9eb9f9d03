import { readFile } from "node:fs/promises";
import { Agent, fetch } from "undici";
import { buildBusyboxImage } from "../cluster/image.ts";
import { buildTools, canHave } from "../cluster/tools.ts";
import { type Registry, splitName, startRegistry } from "./registry.ts";

test.each([
  ["team/app:1", { repository: "team/app", tag: "1" }],
  ["app", { repository: "app", tag: "latest" }],
])("the parts of %s", (given, want) => expect(splitName(given)).toEqual(want));

const possible = canHave("registry") ? describe : describe.skip;

possible("a registry (skipped without Go to build it)", () => {
  let registry: Registry | undefined;
  beforeAll(() => buildTools(() => {}, ["registry"]), 20 * 60_000);
  afterEach(async () => {
    await registry?.stop();
    registry = undefined;
  });

  test("keeps an image, and tells its tags, manifest and configuration", async () => {
    registry = await startRegistry();
    const { layout } = await buildBusyboxImage(() => {});
    expect(await registry.tags("base/busybox")).toEqual([]);
    const digest = await registry.pushLayout(layout, "base/busybox:1");
    expect(await registry.repositories()).toEqual(["base/busybox"]);
    expect(await registry.tags("base/busybox")).toEqual(["1"]);
    const manifest = await registry.manifest("base/busybox", "1");
    expect(manifest).toMatchObject({ digest, mediaType: "application/vnd.oci.image.manifest.v1+json" });
    expect((await registry.blob("base/busybox", manifest!.body.layers[0].digest)).length).toBe(
      manifest!.body.layers[0].size,
    );
    expect((await registry.imageConfig("base/busybox", "1")).config).toMatchObject({ Cmd: ["sh"] });
    expect(await registry.manifest("base/busybox", "2")).toBeUndefined();
  });

  test("lets in who knows a password, and nobody else", async () => {
    registry = await startRegistry({ users: { robot: "pass: ü$`", other: "o" } });
    const status = async (who?: string) =>
      (
        await fetch(`${registry!.url}/v2/`, {
          headers: who ? { authorization: `Basic ${Buffer.from(who).toString("base64")}` } : {},
        })
      ).status;
    expect(await status()).toBe(401);
    expect(await status("robot:wrong")).toBe(401);
    expect(await status("other:o")).toBe(200);
    const { auth } = JSON.parse(registry.dockerConfig("robot")).auths[registry.host];
    expect(await status(Buffer.from(auth, "base64").toString())).toBe(200);
    expect(await registry.tags("none")).toEqual([]);
  });

  test("speaks TLS with an authority of its own", async () => {
    registry = await startRegistry({ tls: true, users: { robot: "password" } });
    expect(await registry.repositories()).toEqual([]);
    await expect(fetch(`${registry.url}/v2/`)).rejects.toThrow();
    const dispatcher = new Agent({ connect: { ca: await readFile(registry.ca!) } });
    expect((await fetch(`${registry.url}/v2/`, { dispatcher })).status).toBe(401);
    await dispatcher.close();
  });
});
