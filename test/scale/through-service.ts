import { createHmac } from "node:crypto";
import type { OutpostClient } from "../../openapi/client.ts";
import { ok, program } from "../faults/link-world.ts";
import { type Daemon, until } from "../servers/run.ts";
import type { Installation } from "./installation.ts";

/** The link of the installation's cluster as a process of its own, connected. */
export async function startLink(
  w: Installation,
  api: OutpostClient,
  url: string,
  env: NodeJS.ProcessEnv = {},
): Promise<Daemon> {
  ok(
    await api.PUT("/v1/agents/{id}", {
      params: { path: { id: "one" } },
      body: { spec: { mode: "cluster", namespace: w.namespace } },
    }),
  );
  const { token } = ok(await api.POST("/v1/agents/{id}/tokens", { params: { path: { id: "one" } }, body: {} }));
  const started = program(["agent"], {
    OUTPOST_ENDPOINT: url,
    OUTPOST_TOKEN: token,
    KUBECONFIG: w.api.kubeconfig,
    POD_NAMESPACE: w.namespace,
    OUTPOST_LOG_LEVEL: "warn",
    ...env,
  });
  await until(
    "the agent to connect",
    async () => (await api.GET("/v1/agents/{id}", { params: { path: { id: "one" } } })).data?.status.connected,
    60_000,
  );
  return started;
}

export interface Hook {
  url: string;
  secret: string;
}

export async function webhook(api: OutpostClient): Promise<Hook> {
  const params = { path: { id: "hub" } };
  ok(
    await api.PUT("/v1/webhooks/{id}", {
      params,
      body: { spec: { provider: "github", enabled: true, secretVersion: 1 } },
    }),
  );
  return ok(await api.GET("/v1/webhooks/{id}/secret", { params }));
}

/** Tells the service of a push, as GitHub does. */
export async function push(hook: Hook, cloneUrl: string, revision: string): Promise<void> {
  const repository = { clone_url: cloneUrl, html_url: cloneUrl.replace(/\.git$/, "") };
  const body = JSON.stringify({ ref: "refs/heads/main", after: revision, repository });
  const signature = createHmac("sha256", hook.secret).update(body).digest("hex");
  const headers = {
    "content-type": "application/json",
    "x-github-event": "push",
    "x-hub-signature-256": `sha256=${signature}`,
  };
  const answer = await fetch(hook.url, { method: "POST", headers, body });
  if (answer.status !== 202) throw new Error(await answer.text());
}
