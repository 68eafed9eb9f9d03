/**
 * The sample Git server of the quickstart, as a process of its own: `tsx git.ts ROOT PORT HOST SECRETFILE`.
 * It serves the bare repositories below ROOT to the user `outpost`.
 */
import { existsSync, readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { startGit } from "../servers/git.ts";

const [root, port, host, secret] = process.argv.slice(2) as [string, string, string, string];
const password = readFileSync(secret, "utf8").trim();
const loopback = host === "127.0.0.1";
const git = await startGit({ root, port: loopback ? Number(port) : 0 });
for (const name of ["guestbook"])
  if (existsSync(join(root, `${name}.git`))) await git.createRepository(name, { users: { outpost: password } });

// A cluster of the user's own reaches this machine at another address than its loopback.
if (!loopback) {
  createServer((socket) => {
    const to = connect(git.port, "127.0.0.1");
    socket.pipe(to).pipe(socket);
    socket.on("error", () => to.destroy());
    to.on("error", () => socket.destroy());
  }).listen(Number(port), host);
}
process.on("SIGTERM", () => process.exit(0));
