import { again, done, stop } from "../../../base/outcome.ts";
import type { Destination } from "../destination.ts";
import type { RespectRbac } from "../settings.ts";
import { isSkippedByRbac } from "./respect-rbac.ts";

const SERVICES = { group: "", version: "v1", kind: "Service", plural: "services", namespaced: true };
const FORBIDDEN = stop("Forbidden", "services is forbidden");
const AWAY = again("ClusterUnavailable", "no answer");

function destination(
  respectRbac: RespectRbac,
  answers: (namespace?: string) => boolean | undefined,
  managed: string[] = [],
) {
  const asked: unknown[] = [];
  const json = async (
    _method: string,
    _path: string,
    { body }: { body: { spec: { resourceAttributes: { namespace?: string } } } },
  ) => {
    asked.push(body.spec.resourceAttributes);
    const allowed = answers(body.spec.resourceAttributes.namespace);
    return allowed === undefined ? AWAY : done({ status: { allowed } });
  };
  return { asked, to: { client: { json }, settings: { respectRbac }, managed } as unknown as Destination };
}

test.each<[string, RespectRbac, typeof FORBIDDEN | typeof AWAY, boolean | undefined, boolean]>([
  ["off, and forbidden", "off", FORBIDDEN, false, false],
  ["normal, and forbidden", "normal", FORBIDDEN, true, true],
  ["normal, and away", "normal", AWAY, false, false],
  ["strict, and the cluster says no", "strict", FORBIDDEN, false, true],
  ["strict, and the cluster says yes", "strict", FORBIDDEN, true, false],
  ["strict, and the cluster says nothing", "strict", FORBIDDEN, undefined, false],
])("a kind that cannot be listed is left out or not: %s", async (_name, respects, failure, answer, want) => {
  const { to, asked } = destination(respects, () => answer);
  expect(await isSkippedByRbac(to, SERVICES, failure)).toBe(want);
  expect(asked).toEqual(
    respects === "strict" ? [{ group: "", resource: "services", namespace: undefined, verb: "list" }] : [],
  );
});

test("where only some namespaces are managed each is asked about, and one without rights is enough", async () => {
  const { to, asked } = destination("strict", (namespace) => namespace === "a", ["a", "b"]);
  expect(await isSkippedByRbac(to, SERVICES, FORBIDDEN)).toBe(true);
  expect(asked).toHaveLength(2);
});
