import type { Schemas } from "../domain/nouns.ts";
import type { TestService } from "./service.ts";

type Report = Schemas["DiscoveredReport"];

/** The namespace of an agent that is installed as usual. */
export const HOME = "outpost-agent";
export const spec = { source: { repoUrl: "https://git.example/a.git", path: "a" }, destination: { namespace: "a" } };

/** What an agent reports of an application that it found. */
export const app = (name: string, more: Partial<Report> = {}): Report => ({
  collection: "applications",
  namespace: HOME,
  name,
  uid: `k-${name}`,
  argoProject: "default",
  spec,
  status: { sync: { status: "Synced" }, health: { status: "Healthy" } },
  ...more,
});

/** The end of a full round of applications. */
export const listed = (
  round: number,
  count: number,
  more: Partial<Schemas["DiscoveredListed"]> = {},
): Schemas["DiscoveredListed"] => ({
  collection: "applications",
  round,
  count,
  ...more,
});

/** Short ways to read discovered objects. */
export function shownBy(service: () => TestService) {
  const get = (path: string, key?: string) => service().ask("GET", path, key ? { key } : {});
  const ids = async (query = "", key?: string): Promise<string[]> =>
    (await get(`/v1/applications${query}`, key)).body.items.map((o: { id: string }) => o.id);
  const eventsAfter = async (version: string): Promise<string> =>
    (await get(`/v1/watch/applications?since=${version}&inherited=true&timeoutSeconds=1`)).text;
  return { get, ids, eventsAfter };
}
