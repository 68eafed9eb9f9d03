import type { KubeClient } from "../../server/kube/client.ts";
import { value } from "./installation.ts";

/** Requests that the API server has answered so far, of all its clients, by verb and kind. A watch counts when it ends. */
export async function requests(client: KubeClient): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const line of value(await client.text("/metrics")).split("\n")) {
    if (!line.startsWith("apiserver_request_total{")) continue;
    const of = (label: string) => new RegExp(`[{,]${label}="([^"]*)"`).exec(line)?.[1] ?? "";
    const what = `${of("verb")} ${of("resource")}${of("subresource") && `/${of("subresource")}`}`;
    counts.set(what, (counts.get(what) ?? 0) + Number(line.slice(line.lastIndexOf(" "))));
  }
  return counts;
}

/** What a piece of work asked of the API server, for each of so many applications; what is seldom is left out. */
export async function asked(client: KubeClient, applications: number, work: () => Promise<unknown>): Promise<string> {
  const before = await requests(client);
  await work();
  const after = await requests(client);
  const each = [...after].map(([what, count]) => [what, (count - (before.get(what) ?? 0)) / applications] as const);
  const kept = each.filter(([, count]) => count >= 0.01).sort(([, a], [, b]) => b - a);
  return `${kept.reduce((sum, [, count]) => sum + count, 0).toFixed(2)}: ${kept.map(([what, count]) => `${count.toFixed(2)} ${what}`).join(", ")}`;
}
