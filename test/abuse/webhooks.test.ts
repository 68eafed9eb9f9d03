import { repositoryKey } from "../../server/base/repository-key.ts";
import { agentsOf } from "../../server/control/testing/agents.ts";
import { HOOK_CALLS, type HookCall, signHook } from "../../server/control/testing/hooks.ts";
import { startService, type TestService } from "../../server/control/testing/service.ts";
import { collect, NASTY } from "./mutate.ts";
import { pick, random } from "./random.ts";

/**
 * Webhooks are only a hint: calls of every provider, broken in one or more places, signed well, wrongly or not at all, sent once and again.
 * Environment: WEBHOOKS (calls for each provider), SEED; a failure prints the call that made it.
 */
const CALLS = Number(process.env.WEBHOOKS ?? (process.env.PROVE ? 2_000 : 40));
// A run that must not depend on luck repeats one seed; PROVE takes another one each time.
const SEED = Number(process.env.SEED ?? (process.env.PROVE ? Date.now() % 1_000_000 : 1));
/** What one address may be called at once; a test that is told to wait proves nothing. */
const EACH = 100;

interface Hook {
  path: string;
  secret: string;
}

let s: TestService;
const hooks = new Map<string, Hook[]>();
const providers = [...new Set(HOOK_CALLS.map((call) => call.provider))];
const { put, agent } = agentsOf(() => s);

beforeAll(async () => {
  s = await startService();
  await agent("a");
  const addresses = HOOK_CALLS.flatMap(({ want }) => (typeof want === "string" ? [] : want.addresses));
  const known = [...new Map(addresses.map((url) => [repositoryKey(url), url])).values()];
  for (const [i, url] of known.entries()) {
    const made = await put(`/v1/applications/app-${i}`, {
      agent: "a",
      destination: {},
      source: { repoUrl: /^[a-z+]+:|@/.test(url) ? url : `oci://${url}`, path: "." },
    });
    if (made.status !== 201) throw new Error(`${url}: ${made.text}`);
  }
  for (const provider of providers) {
    const made: Hook[] = [];
    for (let i = 0; i < Math.ceil(CALLS / EACH); i++) {
      const id = `${provider.toLowerCase()}-${i}`;
      await put(`/v1/webhooks/${id}`, { provider });
      const { body } = await s.ask("GET", `/v1/webhooks/${id}/secret`);
      made.push({ path: new URL(body.url).pathname, secret: body.secret });
    }
    hooks.set(provider, made);
  }
}, 240_000);
afterAll(() => s?.stop());

type Dice = () => number;

/** The payload with something of it gone, doubled, renamed or nasty; sometimes not JSON at all, sometimes a form. */
function broken(call: HookCall, dice: Dice): { raw: string | Uint8Array; headers: Record<string, string> } {
  const payload = structuredClone(call.payload);
  const headers = { ...call.headers };
  for (let n = dice() < 0.15 ? 0 : 1 + dice() * 3; n > 0; n--) {
    const places: [Record<string, any>, string][] = [];
    collect(payload, places);
    if (places.length === 0) break;
    const [holder, key] = pick(places, dice);
    const what = dice();
    if (what < 0.2) delete holder[key];
    else if (what < 0.3) holder[`${key}x`] = holder[key];
    else if (what < 0.4) holder[key] = [holder[key]];
    else if (what < 0.5) holder[key] = pick(EVIL, dice);
    else holder[key] = structuredClone(pick(NASTY, dice));
  }
  let raw: string | Uint8Array = JSON.stringify(payload);
  const what = dice();
  if (what < 0.05)
    raw = pick(
      [
        "",
        "{",
        "null",
        "[]",
        '"x"',
        "nan",
        "[".repeat(20_000),
        `{"a":${"[".repeat(100)}${"]".repeat(100)}}`,
        '{"__proto__":{"a":1}}',
      ],
      dice,
    );
  else if (what < 0.12) {
    const bytes = Buffer.from(raw);
    if (bytes.length) bytes[Math.floor(dice() * bytes.length)] = Math.floor(dice() * 256);
    raw = bytes;
  } else if (what < 0.2) {
    raw =
      dice() < 0.7
        ? new URLSearchParams({ payload: raw }).toString()
        : pick(["payload=%", "payload", "a=b&".repeat(200), `payload=${raw}`], dice);
    headers["content-type"] = "application/x-www-form-urlencoded";
  }
  const event = Object.keys(headers).find((name) => name !== "content-type");
  if (event && dice() < 0.1)
    headers[event] = pick(
      ["", "push", "repo:push", "pr:", "pullrequest:", "x".repeat(300), "constructor", "__proto__"],
      dice,
    );
  return { raw, headers };
}

/** Addresses that would be worth something if anybody went there, or put them into an expression or a command. */
const EVIL = [
  "file:///etc/passwd",
  "http://169.254.169.254/latest/meta-data/",
  "--upload-pack=touch /tmp/x",
  "ext::sh -c id",
  "https://[::1]:8080/x",
  "https://(a+)+$.example/(.*)+",
  "https://h/%2e%2e/%2e%2e",
  "git@host:$(id)",
  `https://h/${"a/".repeat(900)}`,
  `${"/".repeat(2_000)}`,
  "https://github.com/octo/shop.git\r\nX: y",
];

/** Everything of the store that a call of a webhook must leave as it is. */
async function rest(): Promise<string> {
  const texts = await Promise.all(
    [
      "select collection, id, spec, generation, deletion_requested_at from objects order by uid",
      "select collection, id, status from objects where collection not in ('webhooks', 'agents') order by uid",
      "select * from object_references order by from_uid, pointer",
      "select agent_uid, uid, op, revision, action from deliveries order by uid",
      "select id, role, expires_at from api_keys order by id",
      "select seq, operation, outcome from audit order by seq",
      "select id, kind from tasks where kind <> 'repository.changed'",
      "select id from runs",
    ].map(async (query) => JSON.stringify(await s.db.query(query))),
  );
  return texts.join("\n");
}

test(
  `${CALLS} mutated calls of each of ${providers.length} providers: no 5xx, nothing parsed unsigned, nothing but a hint comes of them`,
  async () => {
    const dice = random(SEED);
    const before = await rest();
    const wrong: unknown[] = [];
    const refusals = new Set<string>();
    const outcomes: Record<string, number> = {};
    const send = async (provider: string, hook: Hook) => {
      const call = pick(
        HOOK_CALLS.filter((one) => one.provider === provider),
        dice,
      );
      const { raw, headers } = broken(call, dice);
      const how = dice();
      const other = how < 0.85 ? `${hook.secret}x` : "x";
      const signed = signHook({ ...call, headers }, how < 0.75 ? hook.secret : other, raw);
      const given = how < 0.9 ? signed : { ...signed, headers, query: "" };
      const request = {
        key: undefined,
        raw,
        headers: { "content-type": "application/json", ...given.headers },
        signal: AbortSignal.timeout(30_000),
      };
      // Replay: a call that was good is good again, and does nothing more.
      for (let times = dice() < 0.1 ? 3 : 1; times > 0; times--) {
        const answer = await s.ask("POST", `${hook.path}${given.query}`, request).catch((error: Error) => error);
        const told = {
          provider,
          name: call.name,
          how,
          headers,
          raw: Buffer.from(raw).toString("latin1").slice(0, 2_000),
        };
        if (answer instanceof Error) {
          // What the client library itself refuses to send never reached the service.
          if (!/header|ByteString/i.test(String(answer.cause ?? answer)))
            wrong.push({ ...told, error: String(answer.cause ?? answer) });
          return;
        }
        const { status, body } = answer;
        outcomes[`${status} ${body?.outcome ?? body?.code}`] =
          (outcomes[`${status} ${body?.outcome ?? body?.code}`] ?? 0) + 1;
        if (status >= 500 || status === 429) wrong.push({ ...told, status, text: answer.text });
        // A good signature is never refused as a bad one, whatever the body; a bad one always is.
        if (how < 0.75 === (status === 401)) wrong.push({ ...told, status, text: answer.text });
        if (
          status >= 400 &&
          (body?.status !== status || !/problem\+json/.test(answer.headers.get("content-type") ?? ""))
        )
          wrong.push({ ...told, text: answer.text });
        if (status === 401) refusals.add(JSON.stringify({ ...body, instance: "" }));
      }
    };
    const lines = providers.flatMap((provider) => hooks.get(provider)!.map((hook) => [provider, hook] as const));
    const line = async () => {
      for (let next = lines.shift(); next; next = lines.shift())
        for (let i = 0; i < Math.min(EACH, CALLS); i++) await send(...next);
    };
    await Promise.all(Array.from({ length: 8 }, line));
    process.stdout.write(`seed ${SEED}: ${CALLS * providers.length} calls, ${JSON.stringify(outcomes)}\n`);
    expect({ seed: SEED, wrong: wrong.slice(0, 3) }).toEqual({ seed: SEED, wrong: [] });
    // One answer to every unsigned call, whatever its body and its webhook.
    expect(refusals.size).toBe(1);
    // Most must still be understood, or they prove nothing.
    expect(outcomes["202 Accepted"] ?? 0).toBeGreaterThan((CALLS * providers.length) / 20);

    // What the last calls of a burst have asked for comes a moment later.
    await s.running.services.webhooks.bursts.close();
    expect(await rest()).toBe(before);
    const tasks = await s.db.query("select kind, params from tasks");
    for (const { kind, params } of tasks) {
      expect([kind, Object.keys(params).filter((name) => !["urls", "refs", "revision"].includes(name))]).toEqual([
        "repository.changed",
        [],
      ]);
      for (const url of params.urls)
        expect([url, repositoryKey(url) !== undefined && !/[\s\p{Cc}]/u.test(url)]).toEqual([url, true]);
    }
    expect((await s.ask("GET", "/readyz")).status).toBe(200);
  },
  60_000 + CALLS * 600,
);

/** A call of GitHub about a repository at this address. */
const push = (url: string) => {
  const call = HOOK_CALLS.find(({ provider, name }) => provider === "github" && name === "a push")!;
  const repository = {
    ...(call.payload.repository as object),
    html_url: url,
    clone_url: url,
    git_url: url,
    ssh_url: url,
  };
  return { ...call, payload: { ...call.payload, repository } };
};

test("an address is compared letter by letter: what would be a pattern fits nothing but itself", async () => {
  const [{ path, secret }] = hooks.get("github")! as [Hook];
  const tasks = async () => (await s.db.query("select id from tasks")).length;
  const before = await tasks();
  const send = async (url: string) => {
    const { raw, headers } = signHook(push(url), secret);
    const { status, body } = await s.ask("POST", path, { key: undefined, raw, headers });
    return `${status} ${body.outcome ?? body.code}`;
  };
  for (const url of [
    "https://github.com/octo/.*",
    "https://github.com/octo/sho.",
    "https://github.com/(octo|x)/shop",
    "https://github.com/octo/sh[o]p",
    "https://github.com/%/%",
    "https://github.com/octo/sho_",
    "https://github.com/octo/*",
    "https://.*/.*",
    "https://github.com/octo/shop|.*",
    "https://(a+)+$/((a+)+)+$",
    `https://github.com/${"(a*)*".repeat(300)}b`,
    "https://github.com/octo/shop' or '1'='1",
  ])
    expect([url, await send(url)]).toEqual([url, expect.stringMatching(/^(202 Ignored|400 invalid_request)$/)]);
  expect(await tasks()).toBe(before);
  expect(await send("https://github.com/octo/shop")).toBe("202 Accepted");
});

test("the secret of another webhook, of another provider's, and a key or token of the service sign nothing", async () => {
  const [{ path, secret }] = hooks.get("github")! as [Hook];
  const generic = hooks.get("generic")![0]!;
  const call = HOOK_CALLS.find(({ provider }) => provider === "generic")!;
  const send = async (to: string, about: HookCall, by: string) => {
    const { raw, headers, query } = signHook(about, by);
    return (await s.ask("POST", `${to}${query}`, { key: undefined, raw, headers })).status;
  };
  expect([
    await send(path, push("https://github.com/octo/shop"), secret),
    await send(generic.path, call, generic.secret),
  ]).toEqual([202, 202]);
  for (const [name, [other]] of hooks)
    if (name !== "github")
      expect([name, await send(path, push("https://github.com/octo/shop"), other!.secret)]).toEqual([name, 401]);
  for (const wrong of [s.admin, secret, "", "null", `${Buffer.from('{"alg":"none"}').toString("base64url")}.e30.`])
    expect([wrong, await send(generic.path, call, wrong)]).toEqual([wrong, 401]);
});

test("a body of 25 MiB costs no more memory than itself, and twelve unsigned ones at once no more than is allowed", async () => {
  const [{ path }] = hooks.get("github")! as [Hook];
  const body = Buffer.alloc(24 * 1024 * 1024, 0x5b);
  const send = () =>
    s.ask("POST", path, {
      key: undefined,
      raw: body,
      headers: { "content-type": "application/json", "x-github-event": "push" },
    });
  await send();
  global.gc?.();
  const before = process.memoryUsage().rss;
  const answers = await Promise.all(Array.from({ length: 12 }, send));
  for (const { status } of answers) expect([401, 429]).toContain(status);
  expect((process.memoryUsage().rss - before) / 1024 / 1024).toBeLessThan(700);
});
