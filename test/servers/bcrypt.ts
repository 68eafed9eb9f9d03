import { randomBytes } from "node:crypto";
import { run } from "./run.ts";

/** A password's bcrypt hash, the only one that the registry and Prometheus take. Every Debian has perl, whose crypt(3) knows it. */
export async function bcrypt(password: string): Promise<string> {
  // 22 digits of bcrypt's own base64, which hex digits are, too; cost 4 is the least, as each request pays it.
  const salt = `$2b$04$${randomBytes(10).toString("hex")}e.`;
  const { stdout } = await run("perl", ["-e", "local $/; print crypt(<STDIN>, $ARGV[0])", salt], { input: password });
  if (!stdout.startsWith(salt.slice(0, 7))) throw new Error("perl's crypt does not know bcrypt here");
  return stdout;
}
