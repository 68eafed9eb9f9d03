import { parseFilter } from "../../domain/lists/filter.ts";
import { onBothStores } from "../../testing/database.ts";
import { writing } from "../database/writer.ts";
import { insertObjects } from "../objects/objects.ts";
import { ensureAccount } from "../store.ts";
import { listObjects } from "./list.ts";

const scope = { account: "a", org: "", project: "" };
const objects = [
  {
    id: "web",
    spec: { agent: "prod", labels: { "app.kubernetes.io/part-of": "shop" } },
    status: { health: { status: "Healthy" } },
  },
  {
    id: "api",
    spec: { agent: "prod", description: 'O\'Reilly, (50%) "A_B"' },
    status: { health: { status: "Degraded" } },
  },
  { id: "db", spec: { agent: "test" }, status: {} },
];

onBothStores("a filter", (stores) => {
  test("finds what it says, whatever is in the values", async () => {
    const db = await stores().open();
    await ensureAccount(db, "a");
    await writing(db, "a", (w) =>
      insertObjects(
        w,
        objects.map((o) => ({ ...scope, collection: "applications", ...o })),
      ),
    );
    const found = async (text: string) =>
      (await listObjects(db, "applications", scope, { inherited: false, limit: 9, filter: parseFilter(text) })).map(
        ({ id }) => id,
      );
    for (const [text, ...want] of [
      ["agent=prod", "api", "web"],
      ["agent!=prod", "db"],
      ["health!=Healthy", "api", "db"],
      ["health exists", "api", "web"],
      ["health missing", "db"],
      ["health not in (Healthy)", "api", "db"],
      ["id in (web,db,none)", "db", "web"],
      ["id~E", "web"],
      ['spec.description~"(50%) \\"a_b"', "api"],
      ["id~%"],
      ["labels.app.kubernetes.io/part-of=shop,agent=prod", "web"],
      ["id='; drop table objects; --"],
    ] as const) {
      expect([text, ...(await found(text))]).toEqual([text, ...want]);
    }
  });
});
