// An honest client in a process of its own: `node honest.mjs URL`. On standard input it takes the key, and then for each line so many
// milliseconds for which it asks one request after the other over one connection. For each it prints how long the requests took, in
// milliseconds, and how many were not answered with 200.
import { createInterface } from "node:readline";

const [, , url] = process.argv;
let headers;

async function ask() {
  const started = performance.now();
  const answer = await fetch(`${url}/v1/agents`, { headers });
  await answer.arrayBuffer();
  return { took: performance.now() - started, ok: answer.status === 200 };
}

async function askFor(ms) {
  const times = [];
  let refused = 0;
  const ends = performance.now() + ms;
  while (performance.now() < ends) {
    const { took, ok } = await ask();
    times.push(took);
    if (!ok) refused++;
  }
  process.stdout.write(`${JSON.stringify({ times, refused })}\n`);
}

for await (const line of createInterface(process.stdin))
  if (headers) await askFor(Number(line));
  else headers = { authorization: `Bearer ${line}` };
