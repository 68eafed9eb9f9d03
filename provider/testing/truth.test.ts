import { jest } from "@jest/globals";
import { isMap } from "../value/value.ts";
import { createGarden, gardenSchema } from "./garden.ts";
import { createHarness } from "./harness.ts";
import { type Choices, randomBody, seeded } from "./random.ts";

/** Few in CI; `RANDOM_CONFIGS=1000` for the whole promise. */
const total = Number(process.env.RANDOM_CONFIGS ?? 60);
const batch = 30;
jest.setTimeout(60_000 + total * 2_000);

test("random configurations: what is planned comes true, the next plan is empty, drift is shown", async () => {
  const seed = Number(process.env.RANDOM_SEED ?? 20_26);
  const random = seeded(seed);
  let serial = 0;
  const choices: Choices = {
    random,
    samples: (path) => {
      // Elements of a set must differ from each other.
      if (path === "pots.plant") return [`"p${[...String(serial++)].map((d) => "abcdefghij"[Number(d)]).join("")}"`];
      if (path.endsWith("plant")) return ['"iris"', '"rose"', "terraform_data.x.output"];
      if (path === "colors") return ['["red"]', "[]", '["red", "blue", "red"]'];
      return path === "id" || path === "title" ? [] : undefined;
    },
  };
  const garden = createGarden();
  const h = await createHarness(garden.provider);
  const hcl = (serial: string) =>
    `resource "terraform_data" "x" { input = "plum" }\n${Array.from({ length: batch }, (_, i) => `resource "garden_plot" "p${i}" {\nid = "${serial}-${i}"\n${randomBody(gardenSchema.attributes, choices)}\n}`).join("\n")}`;
  try {
    for (let done = 0; done < total; done += batch) {
      // Every second batch changes the objects of the one before instead of making new ones.
      await h.apply(hcl(`s${Math.floor(done / batch / 2)}`));
      expect(await h.plan()).toEqual([]);
    }
    for (const state of garden.store.values()) if (isMap(state)) state.set("size", 4711);
    expect((await h.plan()).length).toBe(batch);
    expect((await h.run("destroy", "-auto-approve")).code).toBe(0);
    expect(garden.store.size).toBe(0);
  } catch (error) {
    throw new Error(`seed ${seed}: ${(error as Error).message}`);
  } finally {
    await h.close();
  }
});
