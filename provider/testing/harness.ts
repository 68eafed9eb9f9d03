import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Log } from "../protocol/log.ts";
import type { Provider } from "../protocol/provider.ts";
import { attach } from "../protocol/serve.ts";

export interface Result {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A planned change as `terraform show -json` tells it. */
export interface PlannedChange {
  readonly address: string;
  readonly change: {
    actions: string[];
    before: unknown;
    after: unknown;
    after_unknown: unknown;
    replace_paths?: unknown[][];
  };
}

export interface Harness {
  readonly folder: string;
  /** Runs one Terraform command in the test's folder. */
  run(...args: string[]): Promise<Result>;
  /** The same, and a failure is an error with Terraform's text. */
  must(...args: string[]): Promise<Result>;
  /** Starts a command that the test interrupts. */
  start(...args: string[]): { interrupt(signal?: NodeJS.Signals): void; result: Promise<Result> };
  /** Writes the configuration. */
  config(hcl: string): void;
  /** Applies; a failure is an error with Terraform's text. */
  apply(hcl?: string): Promise<void>;
  /** The planned changes that are not no-ops. */
  plan(hcl?: string): Promise<PlannedChange[]>;
  /** The text of the errors of a command that must fail. */
  fails(...args: string[]): Promise<string>;
  /** The attributes of a resource in the state; undefined when it is not there. */
  state(address: string): Promise<Record<string, unknown> | undefined>;
  close(): Promise<void>;
}

/** How long one Terraform command may take here. */
const deadline = 240_000;

/** A folder, a provider in this process, and the real Terraform. Close it at the end of the test. */
export async function createHarness(
  provider: Provider,
  env: Record<string, string> = {},
  namespace = "test",
  log?: Log,
): Promise<Harness> {
  const folder = mkdtempSync(join(tmpdir(), "harness-"));
  const source = `registry.terraform.io/${namespace}/${provider.name}`;
  const attached = await attach(provider, source, log);
  writeFileSync(join(folder, "terraform.rc"), "");
  const environment = {
    ...process.env,
    ...env,
    TF_REATTACH_PROVIDERS: attached.reattach,
    TF_CLI_CONFIG_FILE: join(folder, "terraform.rc"),
    CHECKPOINT_DISABLE: "1",
    TF_IN_AUTOMATION: "1",
    NO_COLOR: "1",
  };
  const header = `terraform {\n  required_providers {\n    ${provider.name} = { source = "${namespace}/${provider.name}" }\n  }\n}\n`;

  const start: Harness["start"] = (...args) => {
    let interrupt = (_: NodeJS.Signals) => {};
    const result = new Promise<Result>((resolve) => {
      const options = { cwd: folder, env: environment, timeout: deadline, maxBuffer: 64 << 20 };
      const child = execFile("terraform", args, options, (error, stdout, stderr) => {
        const failed = typeof error?.code === "number" ? error.code : 1;
        resolve({ code: error ? failed : 0, stdout, stderr });
      });
      interrupt = (signal) => void child.kill(signal);
    });
    return { interrupt: (signal = "SIGINT") => interrupt(signal), result };
  };
  const run = (...args: string[]): Promise<Result> => start(...args).result;
  const must = async (...args: string[]): Promise<Result> => {
    const result = await run(...args);
    if (result.code !== 0) throw new Error(`terraform ${args[0]} failed:\n${result.stderr || result.stdout}`);
    return result;
  };
  const config = (hcl: string): void => writeFileSync(join(folder, "main.tf"), header + hcl);
  return {
    folder,
    run,
    must,
    start,
    config,
    apply: async (hcl) => {
      if (hcl !== undefined) config(hcl);
      await must("apply", "-auto-approve", "-input=false", "-no-color");
    },
    plan: async (hcl) => {
      if (hcl !== undefined) config(hcl);
      await must("plan", "-out=plan", "-input=false", "-no-color");
      const { resource_changes = [] } = JSON.parse((await must("show", "-json", "plan")).stdout) as {
        resource_changes?: PlannedChange[];
      };
      return resource_changes.filter((c) => c.change.actions.join() !== "no-op" && c.change.actions.join() !== "read");
    },
    fails: async (...args) => {
      const result = await run(...args, "-no-color");
      if (result.code === 0) throw new Error(`terraform ${args[0]} was to fail and did not:\n${result.stdout}`);
      // Terraform wraps its errors in a box; the words are what counts.
      return result.stderr.replace(/[│╷╵]/g, "").replace(/\s+/g, " ").trim();
    },
    state: async (address) => {
      const { values } = JSON.parse((await must("show", "-json")).stdout);
      return values?.root_module?.resources?.find((r: { address: string }) => r.address === address)?.values;
    },
    close: async () => {
      await attached.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
