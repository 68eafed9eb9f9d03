import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Service } from "../faults/link-world.ts";

const CLIENT = fileURLToPath(new URL("honest.mjs", import.meta.url));

/** An honest client in a process of its own, started by a program such as `taskset`. `ask` has it send requests for so long. */
export function startHonest({ url, apiKey }: Service, [program = "", ...args]: string[]) {
  const child = spawn(program, [...args, process.execPath, CLIENT, url], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.write(`${apiKey}\n`);
  const lines = createInterface(child.stdout);
  return {
    async ask(ms: number): Promise<{ times: number[]; refused: number }> {
      child.stdin.write(`${ms}\n`);
      const [line] = (await once(lines, "line")) as [string];
      return JSON.parse(line);
    },
    stop: () => child.stdin.end(),
  };
}
