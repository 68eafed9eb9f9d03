// A listener that takes every connection and reads what comes, and does nothing with it: what a flood costs this machine by itself. Prints its port.
import { createServer } from "node:net";

const server = createServer((socket) => {
  socket.on("error", () => {});
  socket.resume();
});
server.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`));
process.stdin.on("end", () => process.exit(0));
process.stdin.resume();
