// A hostile client in a process of its own: `node flood.mjs URL SORT CONNECTIONS PER_SECOND [VALUE]`. It prints a line when it has begun, and
// how many requests it began when its standard input ends.
import { randomBytes } from "node:crypto";
import { connect } from "node:net";

const [, , url, sort, connections, perSecond, value = ""] = process.argv;
const { hostname, port } = new URL(url);
const random = (bytes) => randomBytes(bytes).toString("base64url");
const post = (path, body, more = "") =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${more}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const half = (path, length, more = "") =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${more}Content-Length: ${length}\r\n\r\n`;
const forged = () => `Authorization: Bearer opk_default_${random(32)}\r\n`;
const enrol = (tokenId) =>
  JSON.stringify({
    tokenId,
    nonce: random(16),
    signKey: random(32),
    sealKey: random(32),
    instance: "i",
    version: "0.1.0",
    proof: random(64),
  });

const SORTS = {
  "half-sent": () => half("/v1/tasks", 10),
  "half-sent with a forged key": () => half("/v1/tasks", 10, forged()),
  "forged keys": () => `GET /v1/agents HTTP/1.1\r\nHost: x\r\n${forged()}\r\n`,
  "no key": () => "GET /v1/agents HTTP/1.1\r\nHost: x\r\n\r\n",
  "unfinished heads": () => "GET /v1/agents HTTP/1.1\r\nHost: x\r\nX-More: ",
  "unfinished chunks": () =>
    "POST /v1/worker/enrol HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
  "half-sent enrolments": () => half("/v1/worker/enrol", 200_000),
  "enrolments with unknown tokens": () => post("/v1/worker/enrol", enrol(`default-${randomBytes(8).toString("hex")}`)),
  "enrolments with a known token and a forged proof": () => post("/v1/worker/enrol", enrol(value)),
  "sessions of unknown workers": () =>
    post(
      "/v1/worker/session",
      JSON.stringify({
        worker: `default-${randomBytes(12).toString("hex")}`,
        nonce: random(16),
        instance: "i",
        version: "0.1.0",
        capabilities: [],
        signature: random(64),
      }),
    ),
  greetings: () => `GET /v1/worker/hello?nonce=${random(16)} HTTP/1.1\r\nHost: x\r\n\r\n`,
  "half-sent calls of made-up webhooks": () => half(`/v1/hooks/default_${random(32)}`, 24 * 1024 * 1024),
  "half-sent calls of a webhook": () => half(value, 24 * 1024 * 1024) + "x".repeat(100_000),
};

let begun = 0;
const sockets = [];
function open(at) {
  const socket = connect(Number(port), hostname);
  sockets[at] = socket;
  socket.on("error", () => {});
  socket.on("data", () => {});
  socket.on("close", () => {
    if (sockets[at] === socket) sockets[at] = undefined;
  });
  return socket;
}
for (let i = 0; i < Number(connections); i++) open(i);
const unanswered = /half|unfinished/.test(sort);
let turn = 0;
const started = performance.now();
const timer = setInterval(() => {
  const due = ((performance.now() - started) / 1_000) * Number(perSecond);
  while (begun < due) {
    begun++;
    const at = turn++ % Number(connections);
    // A half-sent request is begun on a fresh connection, the old one stays as long as the service lets it.
    const socket = sockets[at] === undefined || (unanswered && sockets[at].bytesWritten > 0) ? open(at) : sockets[at];
    socket.write(SORTS[sort]());
  }
}, 10);
process.stdout.write("begun\n");
process.stdin.on("end", () => {
  clearInterval(timer);
  process.stdout.write(`${begun}\n`, () => process.exit(0));
});
process.stdin.resume();
