// The application that examples deploy: answers every path with a page, and says which version and pod it is.
import { createServer } from "node:http";
import { hostname } from "node:os";

const port = Number(process.env.PORT ?? 8080);
const greeting = process.env.GREETING ?? "Hello";

const server = createServer((request, response) => {
  response.setHeader("content-type", "text/html; charset=utf-8");
  response.end(
    `<!doctype html><title>Guestbook</title><h1>${greeting}</h1><p>from ${hostname()}, ${request.url === "/healthz" ? "healthy" : "open"}</p>\n`,
  );
});
server.listen(port, () => console.log(`guestbook on port ${port}`));
// Leave at once when Kubernetes asks: as the first process of its container, node would ignore the signal.
process.on("SIGTERM", () => process.exit(0));
