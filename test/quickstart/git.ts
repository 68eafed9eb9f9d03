/**
 * The sample Git server of the quickstart, as a process of its own: `tsx git.ts ROOT PORT HOST SECRETFILE`.
 * It serves the bare repositories below ROOT to the user `outpost`, who makes new ones by pushing to them.
 */
import { readdirSync, readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { startGit } from "../servers/git.ts";

const [root, port, host, secret] = process.argv.slice(2) as [string, string, string, string];
const password = readFileSync(secret, "utf8").trim();
const loopback = host === "127.0.0.1";
const users = { outpost: password };
// A first push makes a repository: so a person can deploy something of their own at once.
const git = await startGit({ root, port: loopback ? Number(port) : 0, onPush: { users } });
for (const folder of readdirSync(root))
  if (folder.endsWith(".git")) await git.createRepository(folder.slice(0, -".git".length), { users });

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
