// An honest client in a process of its own: `node honest.mjs URL MILLISECONDS`, the key on standard input. It asks one request after the
// other over one connection, and prints how long each took, in milliseconds, and how many were not answered with 200.
import { readFileSync } from "node:fs";

const [, , url, ms] = process.argv;
const headers = { authorization: `Bearer ${readFileSync(0, "utf8").trim()}` };
const WARM_MS = 300;

async function ask() {
  const started = performance.now();
  const answer = await fetch(`${url}/v1/agents`, { headers });
  await answer.arrayBuffer();
  return { took: performance.now() - started, ok: answer.status === 200 };
}

const begins = performance.now();
while (performance.now() - begins < WARM_MS) await ask();
const times = [];
let refused = 0;
const ends = performance.now() + Number(ms);
while (performance.now() < ends) {
  const { took, ok } = await ask();
  times.push(took);
  if (!ok) refused++;
}
process.stdout.write(JSON.stringify({ times, refused }));
