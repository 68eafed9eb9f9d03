import { spawn } from "node:child_process";
import { appendFileSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";

/** Copies an example's own files; what Terraform made in an earlier copy stays where it is. */
export function copyExample(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from)) {
    const file = join(from, name);
    if (/^(\.terraform|terraform\.tfstate)/.test(name)) continue;
    if (statSync(file).isDirectory()) copyExample(file, join(to, name));
    else copyFileSync(file, join(to, name));
  }
}

export interface Ran {
  code: number;
  output: string;
}

/** Runs terraform in a folder; every line it says goes to `line` and to the log. An interrupt reaches it too, and it is waited for. */
export function terraform(
  dir: string,
  args: string[],
  env: NodeJS.ProcessEnv,
  log: string,
  line: (text: string) => void = () => {},
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn("terraform", args, {
      cwd: dir,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    let rest = "";
    const hear = (chunk: Buffer) => {
      const text = chunk.toString();
      output += text;
      appendFileSync(log, text);
      const lines = (rest + text).split("\n");
      rest = lines.pop()!;
      for (const one of lines) if (one.trim()) line(one.trim());
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.once("error", reject);
    child.once("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

/** What to say of terraform's talk: which resources are at work and how many are done. */
export function applyNote(): (line: string) => string | undefined {
  let done = 0;
  const working = new Map<string, string>();
  return (line) => {
    const [, what, rest] = /^(\S+): (.*)$/.exec(line) ?? [];
    if (!what || !rest) return undefined;
    if (/^(Creation|Modifications|Destruction|Opening|Closing) complete/.test(rest)) {
      working.delete(what);
      if (!/^(Opening|Closing)/.test(rest)) done++;
    } else if (/^(Creating|Modifying|Destroying|Still)/.test(rest))
      working.set(what, /\[.*?(\d\S*) elapsed\]/.exec(rest)?.[1] ?? "");
    else return undefined;
    const now = [...working].map(([name, time]) => `${name.replace(/^module\./, "")}${time ? ` ${time}` : ""}`);
    return `${done} done${now.length ? `, now ${now.join(", ")}` : ""}`;
  };
}

/** Only Terraform's own errors, without its frames. */
export function terraformErrors(output: string): string {
  const plain = stripVTControlCharacters(output);
  const at = plain.indexOf("Error:");
  return (at < 0 ? plain.split("\n").slice(-20).join("\n") : plain.slice(at)).replace(/^[╷│╵] ?/gm, "").trim();
}

export const terraformState = (dir: string): boolean =>
  existsSync(join(dir, "terraform.tfstate")) &&
  JSON.parse(readFileSync(join(dir, "terraform.tfstate"), "utf8")).resources?.length > 0;
