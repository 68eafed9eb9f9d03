import { stat } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import type { Schemas } from "../../../../openapi/client.ts";
import { readJson } from "../../../base/json/nesting.ts";
import { done, type Failure, type Outcome, stop } from "../../../base/outcome.ts";
import { inside } from "../../config/safe-path.ts";
import type { TaskContext } from "../../kind.ts";
import { makeTaskFolder, openTaskFile, putTaskFile, readTaskFile } from "../../task/task-files.ts";
import { programLacks } from "../script/program.ts";
import { type Diagnostic, explainTerraform, readErrors, readUi } from "./diagnostics.ts";

type Base = Schemas["TerraformBase"];

const HOW =
  "install Terraform 1.4 or newer (https://developer.hashicorp.com/terraform/install) on the delegate's PATH, or use the delegate's image, which has it";
// What a plan or the outputs of a state may have in JSON.
const MAX_JSON = 64 * 1024 * 1024;
/** They would change what is run, or where its state is. */
const OURS = /^TF_(CLI_ARGS.*|DATA_DIR|WORKSPACE|INPUT|IN_AUTOMATION|CLI_CONFIG_FILE|REATTACH_PROVIDERS)$/;

// Its help needs no home, and no look for newer versions.
export const lacksTerraform = (env: NodeJS.ProcessEnv) =>
  programLacks("terraform", ["-help"], env, HOW, { CHECKPOINT_DISABLE: "1" });

/** Terraform in one folder, which reads no settings but its task's and those its delegate passes. */
export class Terraform {
  readonly #context: TaskContext;
  readonly #env: Record<string, string>;
  /** Folder of the configuration. */
  readonly folder: string;
  /** Of providers, modules and the backend; not in the configuration's folder, so that it is not packed with it. */
  readonly #data: string;

  private constructor(context: TaskContext, folder: string, env: Record<string, string>) {
    this.#context = context;
    this.folder = folder;
    this.#data = join(context.workspace.dir, "terraform");
    this.#env = {
      ...context.env,
      ...env,
      ...context.own,
      TF_DATA_DIR: this.#data,
      TF_IN_AUTOMATION: "1",
      TF_INPUT: "0",
      CHECKPOINT_DISABLE: "1",
    };
  }

  static async open(source: string, { path = ".", env = {} }: Base, context: TaskContext): Promise<Outcome<Terraform>> {
    const wrong = Object.keys(env).find((name) => OURS.test(name));
    if (wrong) return stop("ParamsInvalid", `/params/env/${wrong} is the delegate's to set`);
    const folder = await inside(source, path);
    if (folder.kind !== "done") return stop(folder.reason, `/params/path: ${folder.message}`);
    if (!(await stat(folder.value)).isDirectory())
      return stop("PathRefused", "/params/path is a file; it names the folder of the configuration");
    return done(new Terraform(context, folder.value, env));
  }

  /** Fetches providers and modules, connects the backend and chooses the workspace. */
  async init({ backendConfig = {}, workspace }: Base): Promise<Failure | undefined> {
    const flags: string[] = [];
    if (Object.keys(backendConfig).length) {
      const text = Object.entries(backendConfig).map(([name, value]) => `${name} = ${quoted(value)}\n`);
      flags.push(`-backend-config=${await this.#write("backend.hcl", text.join(""))}`);
    }
    const failure = await this.#plain("init", "-input=false", "-no-color", ...flags);
    if (failure || !workspace) return failure;
    return this.#plain("workspace", "select", "-or-create", "-no-color", workspace);
  }

  /** Where the state is kept after the task; undefined when that would be the task's own folder, which is not. */
  async backend(): Promise<string | undefined> {
    const { dir } = this.#context.workspace;
    const text = await readTaskFile(dir, join(this.#data, "terraform.tfstate"), MAX_JSON);
    const { backend } = readJson(text || "{}") as {
      backend?: { type?: string; config?: { path?: string; workspace_dir?: string } };
    };
    if (!backend?.type) return undefined;
    if (backend.type !== "local") return backend.type;
    const { path = "" } = backend.config ?? {};
    return isAbsolute(path) && !path.startsWith(this.#context.workspace.dir) ? "local" : undefined;
  }

  /** Variables in a file that only the delegate's user reads. */
  async variables(values: Record<string, unknown> = {}): Promise<string[]> {
    if (Object.keys(values).length === 0) return [];
    return [`-var-file=${await this.#write("variables.tfvars.json", JSON.stringify(values))}`];
  }

  /** A command that speaks JSON: its lines as people read them in the log. */
  async speak(fallback: string, ...args: string[]): Promise<Failure | undefined> {
    const errors: Diagnostic[] = [];
    const stderr: string[] = [];
    const ran = await this.#context.run("terraform", args, {
      cwd: this.folder,
      env: this.#env,
      write: async (stream, line) => {
        if (stream !== "stdout") stderr.push(line);
        const { text, diagnostic } = stream === "stdout" ? readUi(line) : { text: [line], diagnostic: undefined };
        if (diagnostic?.severity === "error") errors.push(diagnostic);
        for (const one of text) await this.#context.write(stream, one);
      },
    });
    if (ran.kind !== "done") return ran;
    if (ran.value === 0) return undefined;
    const { reason, message } = explainTerraform(errors.length ? errors : readErrors(stderr), fallback);
    return stop(reason, message);
  }

  /** What a command answers in JSON, however long. */
  async json<T>(...args: string[]): Promise<Outcome<T>> {
    const { dir } = this.#context.workspace;
    const name = `answer-${args[0]}.json`;
    const file = join(dir, name);
    // Programs that ran before may have put a link there.
    await putTaskFile(dir, file, "");
    // The log takes lines, and this is one of megabytes.
    const ran = await this.#context.run("/bin/sh", ["-c", 'exec "$@" >"$0"', file, "terraform", ...args], {
      cwd: this.folder,
      env: this.#env,
    });
    if (ran.kind !== "done") return ran;
    if (ran.value !== 0)
      return stop("TerraformFailed", `terraform ${args[0]} exited with ${ran.value}; the log says why`);
    const answer = await openTaskFile(dir, dir, name);
    if (answer.kind !== "done") return answer;
    try {
      if (answer.value.size > MAX_JSON)
        return stop("TooLarge", `terraform ${args[0]} answered with more than ${MAX_JSON / 2 ** 20} MiB`);
      return done(readJson(await answer.value.text(MAX_JSON)) as T);
    } finally {
      await answer.value.close();
    }
  }

  /** A command that speaks to people only. */
  async #plain(...args: string[]): Promise<Failure | undefined> {
    const lines: string[] = [];
    const seen = (_: string, line: string) => void lines.push(line);
    const ran = await this.#context.run("terraform", args, { cwd: this.folder, env: this.#env, seen });
    if (ran.kind !== "done") return ran;
    if (ran.value === 0) return undefined;
    const { reason, message } = explainTerraform(readErrors(lines), "InitFailed");
    return stop(reason, message);
  }

  async #write(name: string, text: string): Promise<string> {
    const { dir } = this.#context.workspace;
    const folder = join(dir, "variables");
    await makeTaskFolder(dir, folder);
    const file = join(folder, name);
    await putTaskFile(dir, file, text);
    return file;
  }
}

/** A text of HCL: nothing in it is a template. */
const ESCAPES = new Map([
  ["b", "\\u0008"],
  ["f", "\\u000c"],
]);

const quoted = (text: string) =>
  JSON.stringify(text)
    .replace(/\\(.)/g, (whole, letter) => ESCAPES.get(letter) ?? whole)
    .replace(/([$%])\{/g, "$1$1{");
