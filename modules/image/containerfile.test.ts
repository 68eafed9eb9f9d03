import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const text = readFileSync(fileURLToPath(new URL("Containerfile", import.meta.url)), "utf8");
const arg = (name: string) => new RegExp(`^ARG ${name}=(.*)$`, "m").exec(text)?.[1];
/** The instruction that contains a text, with its lines joined as a shell sees them. */
const run = (part: string) => {
  const found = text
    .replaceAll("\\\n", " ")
    .split("\n")
    .find((line) => line.startsWith("RUN ") && line.includes(part));
  return found!.slice(4);
};

const digest = `@sha256:${"a".repeat(64)}`;
const pinned = {
  NODE_IMAGE: `node:24${digest}`,
  GO_IMAGE: `golang:1.26${digest}`,
  TERRAFORM_IMAGE: `terraform:1${digest}`,
  TOOLS: "tools",
  PINNED: "true",
};
test.each<[string, Record<string, string>, RegExp | undefined]>([
  ["every image has a digest", {}, undefined],
  ["Node.js by tag", { NODE_IMAGE: "node:24-bookworm-slim" }, /^node:24-bookworm-slim has no digest/],
  ["Go by tag", { GO_IMAGE: "golang:1.26" }, /^golang:1.26 has no digest/],
  ["Terraform by tag", { TERRAFORM_IMAGE: "terraform:1.11.4" }, /^terraform:1.11.4 has no digest/],
  ["tools of another image, by tag", { TOOLS: "mine/tools:1" }, /^mine\/tools:1 has no digest/],
  [
    "tools of another image, by digest, and Go is not used",
    { TOOLS: `mine/tools${digest}`, GO_IMAGE: "golang:1.26" },
    undefined,
  ],
  ["a digest of another kind", { NODE_IMAGE: "node@sha512:aa" }, /has no digest/],
  ["tags, for a trial", { NODE_IMAGE: "node:24", GO_IMAGE: "golang", PINNED: "false" }, undefined],
])("the build refuses images that a tag could move: %s", (_, given, want) => {
  const { status, stderr } = spawnSync("sh", ["-c", run("has no digest")], {
    env: { ...pinned, ...given },
    encoding: "utf8",
  });
  expect([status, stderr]).toEqual(want ? [1, expect.stringMatching(want)] : [0, ""]);
});

test("the build refuses Debian packages without a time", () => {
  const script = run("apt-get install").replace(/&& apt-get update.*/, "");
  const { status, stderr } = spawnSync("sh", ["-c", script], {
    env: { PINNED: "true", APT_SNAPSHOT: "" },
    encoding: "utf8",
  });
  expect([status, stderr]).toEqual([1, expect.stringContaining("APT_SNAPSHOT is not set")]);
  const trial = spawnSync("sh", ["-c", script], { env: { PINNED: "false", APT_SNAPSHOT: "" }, encoding: "utf8" });
  expect([trial.status, trial.stderr]).toEqual([0, ""]);
});

test("the base is a Node.js with security fixes, and the image runs as an ordinary user", () => {
  expect(arg("NODE_IMAGE")).toMatch(/node:(22|24)-/);
  expect(text).toMatch(/^USER 1000:1000$/m);
  expect(text.lastIndexOf("USER ")).toBeGreaterThan(text.lastIndexOf("RUN "));
});
