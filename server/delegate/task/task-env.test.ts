import { readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../testing/temporary.ts";
import { CaBundle, taskEnv } from "./task-env.ts";

const dir = temporaryFolder();
const workspace = {
  dir: "/w/t1.3",
  work: "/w/t1.3/work",
  home: "/w/t1.3/home",
  tmp: "/w/t1.3/tmp",
  mark: "OUTPOST_WORKSPACE=/w/t1.3",
};
const task = { task: "t1", fence: 3, attempt: 2 };

test("a task gets the list and nothing else of the delegate's environment", () => {
  const env = {
    PATH: "/opt/tools:/bin",
    HTTPS_PROXY: "http://proxy:3128",
    LANG: "",
    MINE: "yes",
    HOME: "/root",
    DELEGATE_TOKEN: "ot1_secret",
    OUTPOST_TOKEN: "ot1_secret",
    OUTPOST_TOKEN_FILE: "/etc/token",
    ACCOUNT_ID: "acme",
    OUTPOST_ENDPOINT: "https://outpost.example.com",
    NODE_OPTIONS: "--inspect",
    AWS_SECRET_ACCESS_KEY: "x",
  };
  expect(taskEnv({ env, more: ["MINE"], task, workspace })).toEqual({
    PATH: "/opt/tools:/bin",
    HTTPS_PROXY: "http://proxy:3128",
    MINE: "yes",
    HOME: "/w/t1.3/home",
    TMPDIR: "/w/t1.3/tmp",
    OUTPOST_TASK: "t1",
    OUTPOST_ATTEMPT: "2",
    OUTPOST_FENCE: "3",
    OUTPOST_WORKSPACE: "/w/t1.3",
  });
});

test("a private CA is added to the usual roots, for every tool, and read again when it changes", () => {
  const file = join(dir, "ca.crt");
  writeFileSync(file, "-----BEGIN CERTIFICATE-----\nONE\n-----END CERTIFICATE-----\n");
  const bundle = new CaBundle(file, dir);
  const path = bundle.path()!;
  expect(readFileSync(path, "utf8").match(/BEGIN CERTIFICATE/g)!.length).toBeGreaterThan(20);
  writeFileSync(file, "-----BEGIN CERTIFICATE-----\nTWO\n-----END CERTIFICATE-----\n");
  utimesSync(file, 1, 1);
  expect(readFileSync(bundle.path()!, "utf8")).toMatch(/TWO/);
  expect(taskEnv({ env: {}, more: [], task, workspace, caBundle: path })).toMatchObject({
    SSL_CERT_FILE: path,
    GIT_SSL_CAINFO: path,
    CURL_CA_BUNDLE: path,
  });
  expect(new CaBundle(undefined, dir).path()).toBeUndefined();
});
