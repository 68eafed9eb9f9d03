import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { jest } from "@jest/globals";
import { createGarden, type Garden } from "./garden.ts";
import { createHarness, type Harness } from "./harness.ts";

jest.setTimeout(120_000);

async function world<T>(use: (h: Harness, garden: Garden) => Promise<T>): Promise<T> {
  const garden = createGarden();
  const harness = await createHarness(garden.provider);
  try {
    return await use(harness, garden);
  } finally {
    await harness.close();
  }
}
const at = "garden_plot.a";
const plot = (body: string): string => `resource "garden_plot" "a" {\n  id = "one"\n${body}\n}\n`;

const full = plot(`
  title  = "first é"
  labels = { a = "1", "__proto__" = "2" }
  colors = ["red", "blue"]
  layout = jsonencode({ b = 1, a = [1.5, 12345678901234567000, 1e21] })
  anything = { x = [1, "two", null], big = 123456789012345678901234567890 }
  front  = { plant = "rose" }
  beds   = [{ plant = "tulip" }, { plant = "iris", rows = 3, note = "blue" }]
  pots   = [{ plant = "basil" }, { plant = "mint", rows = 2 }]
  rooms  = { east = { plant = "fern" }, west = { plant = "palm", note = "tall" } }
  gate         = { code = "sesame" }
  gate_version = "1"
  secret       = "hidden"
`);

test("a resource lives: create, empty plan, update in place, drift, replace, remote deletion, destroy", () =>
  world(async (h, { store, codes, calls }) => {
    const created = await h.plan(full);
    expect(created.map((c) => c.change.actions)).toEqual([["create"]]);
    expect(created[0]!.change.after_unknown).toMatchObject({
      uid: true,
      revision: true,
      soil: true,
      front: { tag: true },
      beds: [{ tag: true }, { tag: true }],
    });
    expect(created[0]!.change.after).toMatchObject({
      size: 10,
      kind: "open",
      beds: [{ rows: 1 }, { rows: 3 }],
      gate: null,
    });
    await h.apply();
    expect(codes).toEqual(["sesame"]);
    expect(await h.plan()).toEqual([]);
    const first = await h.state(at);
    expect(first).toMatchObject({
      uid: "uid-1",
      revision: 1,
      soil: "loam",
      gate: null,
      rooms: { east: { plant: "fern", rows: 1, tag: "tag-1" } },
    });

    // An update keeps what is stable, and makes unknown only what can change.
    const [updated] = await h.plan(
      full
        .replace('"first é"', '"second"')
        .replace('{ plant = "iris", rows = 3, note = "blue" }', '{ plant = "iris", rows = 4 }'),
    );
    expect(updated!.change.actions).toEqual(["update"]);
    expect(updated!.change.after_unknown).toMatchObject({ revision: true });
    expect(updated!.change.after).toMatchObject({
      uid: "uid-1",
      soil: "loam",
      beds: [{ tag: "tag-1" }, { tag: "tag-1", rows: 4, note: null }],
    });
    await h.apply();
    expect(await h.plan()).toEqual([]);
    expect(await h.state(at)).toMatchObject({ revision: 2, title: "second" });

    // JSON with another spelling is no change; a reordered set neither.
    expect(
      await h.plan(
        full
          .replace('"first é"', '"second"')
          .replace(', rows = 3, note = "blue"', ", rows = 4")
          .replace('["red", "blue"]', '["blue", "red"]')
          .replace(
            "jsonencode({ b = 1, a = [1.5, 12345678901234567000, 1e21] })",
            '"{ \\"b\\" : 1.0, \\"a\\": [1.5,12345678901234567e3,1.0E21]}"',
          ),
      ),
    ).toEqual([]);

    // Drift made behind our back is shown and repaired.
    store.get("one")!.set("size", 11);
    const [drift] = await h.plan();
    expect(drift!.change).toMatchObject({ actions: ["update"], before: { size: 11 }, after: { size: 10 } });
    await h.apply();
    expect(store.get("one")!.get("size")).toBe(10);

    // A changed id, a changed kind, and a changed nested attribute that forces it replace.
    const [replaced] = await h.plan(full.replace("title ", 'kind = "glass"\n  title '));
    expect(replaced!.change).toMatchObject({ actions: ["delete", "create"], replace_paths: [["kind"]] });
    const [nested] = await h.plan(full.replace('{ plant = "rose" }', '{ plant = "rose", fence = "high" }'));
    expect(nested!.change).toMatchObject({ actions: ["delete", "create"], replace_paths: [["front", "fence"]] });

    // What only steers the provider is no change of the object: nothing becomes unknown.
    const [steered] = await h.plan(
      full
        .replace('"first é"', '"second"')
        .replace(', rows = 3, note = "blue"', ", rows = 4")
        .replace("secret ", 'patience = "5m"\n  secret '),
    );
    expect(steered!.change.after_unknown).not.toHaveProperty("revision");

    h.config(full);
    store.delete("one");
    expect((await h.plan()).map((c) => c.change.actions)).toEqual([["create"]]);
    await h.apply();
    calls.length = 0;
    expect((await h.run("destroy", "-auto-approve")).code).toBe(0);
    expect(store.size).toBe(0);
    expect(calls).toContain("delete");
  }));

test("sets of nested objects match their elements by what the user wrote", () =>
  world(async (h) => {
    await h.apply(plot('pots = [{ plant = "basil" }, { plant = "mint", rows = 2 }]'));
    const [change] = await h.plan(
      plot('pots = [{ plant = "mint", rows = 2 }, { plant = "basil", rows = 1 }, { plant = "sage" }]'),
    );
    const pots = (change!.change.after as { pots: { plant: string; tag?: string }[] }).pots;
    expect(
      pots
        .filter((p) => p.tag === "tag-1")
        .map((p) => p.plant)
        .sort(),
    ).toEqual(["basil", "mint"]);
    await h.apply();
    expect(await h.plan()).toEqual([]);
  }));

test("an unknown value in the configuration stays unknown only where it is", () =>
  world(async (h) => {
    const hcl = (value: string) =>
      `resource "terraform_data" "x" { input = ${value} }\n${plot('  title = terraform_data.x.output\n  beds = [{ plant = "iris", note = terraform_data.x.id }, { plant = "rose" }]')}`;
    const [, change] = (await h.plan(hcl('"t"'))).sort((a, b) => (a.address < b.address ? 1 : -1));
    expect(change!.change.after_unknown).toMatchObject({
      title: true,
      beds: [{ note: true, tag: true }, { tag: true }],
    });
    await h.apply();
    expect(await h.state(at)).toMatchObject({ title: "t", beds: [{ plant: "iris" }, { plant: "rose", note: null }] });
    expect(await h.plan()).toEqual([]);
    // A whole list that is unknown.
    const list = `resource "terraform_data" "y" { input = [{ plant = "iris", rows = 2, note = null }] }\nresource "garden_plot" "b" {\n id = "two"\n beds = terraform_data.y.output\n}\n`;
    await h.apply(hcl('"t"') + list);
    expect(await h.state("garden_plot.b")).toMatchObject({ beds: [{ plant: "iris", rows: 2, tag: "tag-2" }] });
    expect(await h.plan()).toEqual([]);
  }));

test("an object is imported by its id, and the plan after it is empty; a missing one is named", () =>
  world(async (h, { store }) => {
    const hcl = plot('title = "x"\n beds = [{ plant = "iris" }]');
    await h.apply(hcl);
    expect((await h.run("state", "rm", at)).code).toBe(0);
    h.config(`${hcl}import {\n to = ${at}\n id = "one"\n}\n`);
    await h.apply();
    expect(await h.plan()).toEqual([]);
    expect(store.size).toBe(1);
    h.config(`${hcl}resource "garden_plot" "b" { id = "two" }\n`);
    expect(await h.fails("import", "garden_plot.b", "two")).toContain('There is no garden_plot with the id "two"');
  }));

test("write-only values reach the service, and neither plan nor state", () =>
  world(async (h, { codes }) => {
    const hcl = (code: string, version: string) => plot(`gate = { code = "${code}" }\n gate_version = "${version}"`);
    await h.apply(hcl("canary-1", "1"));
    expect(await h.plan(hcl("canary-2", "1"))).toEqual([]);
    expect((await h.plan(hcl("canary-2", "2"))).length).toBe(1);
    // The configuration itself is in the plan, with the literal of this test.
    const { configuration, ...shown } = JSON.parse((await h.run("show", "-json", "plan")).stdout);
    await h.apply();
    expect(codes).toEqual(["canary-1", "canary-2"]);
    expect(
      JSON.stringify(shown) + (await h.run("show", "-json")).stdout + (await h.run("state", "pull")).stdout,
    ).not.toContain("canary");
  }));

test("ephemeral values are opened, used and closed, and stored nowhere", () =>
  world(async (h, { codes, calls }) => {
    await h.apply(
      `ephemeral "garden_key" "k" { door = "back" }\n${plot("gate = { code = ephemeral.garden_key.k.key }\n gate_version = 1")}`,
    );
    expect(codes).toEqual(["key-of-back"]);
    expect(calls.filter((c) => c === "open").length).toBe(calls.filter((c) => c === "close back").length);
    expect((await h.run("state", "pull")).stdout).not.toContain("key-of-back");
  }));

test("data sources use the provider's configuration, aliases keep theirs, and functions name a wrong argument", () =>
  world(async (h) => {
    await h.apply(`provider "garden" { owner = "ann" }
provider "garden" {
  alias = "b"
  owner = "bob"
}
data "garden_owner" "a" {}
data "garden_owner" "b" { provider = garden.b }
output "o" { value = "\${data.garden_owner.a.name} \${data.garden_owner.b.name} \${join(",", provider::garden::repeat("ab", 2, "x"))}" }`);
    expect(JSON.parse((await h.run("output", "-json")).stdout).o.value).toBe("ann bob abab,x");
    h.config('output "o" { value = provider::garden::repeat("a", -1) }');
    expect(await h.fails("plan")).toContain('Invalid value for "times" parameter: must not be negative');
  }));

test.each([
  ["pattern", plot('title = "t"\n beds = [{ plant = "iris" }, { plant = "IRIS" }]'), "must be small letters", "beds"],
  ["enum", plot('kind = "shed"'), 'One of "open", "glass" is wanted, got "shed"', "kind"],
  ["range", plot('front = { plant = "a", rows = 10 }'), "At most 9 is allowed, got 10", "rows"],
  ["whole number", plot('rooms = { x = { plant = "a", rows = 1.5 } }'), "It must be a whole number, got 1.5", "rooms"],
  ["length of a set's element", plot('colors = ["ultramarine"]'), "At most 9 characters are allowed, got 11", "colors"],
  ["JSON", plot('layout = "{"'), "The text must be JSON", "layout"],
  ["JSON of the wrong kind", plot('layout = "[]"'), "It must be a JSON object", "layout"],
  [
    "duration",
    plot('patience = "soon"'),
    "a duration longer than zero and at most a year, for example `90s`",
    "patience",
  ],
  [
    "duplicates in a set",
    plot('pots = [{ plant = "a" }, { plant = "a", rows = 1 }]'),
    "Two elements of this set are the same",
    "pots",
  ],
  ["a rule of the resource itself", plot('title = "weeds"'), "A garden of weeds is not allowed", "title"],
])("a wrong value is refused by validate, at its attribute: %s", (_name, hcl, want, attribute) =>
  world(async (h, { calls }) => {
    h.config(hcl);
    const text = await h.fails("validate");
    expect(text).toContain(want);
    expect(text).toMatch(new RegExp(`on main.tf line \\d+.*${attribute} `));
    expect(calls).toEqual([]);
  }),
);

test("state of an older schema is upgraded, and state of a newer one is refused", () =>
  world(async (h) => {
    await h.apply(plot('title = "t"'));
    const pulled = JSON.parse((await h.run("state", "pull")).stdout);
    const [resource] = pulled.resources;
    const push = (version: number, attributes: object) => {
      resource.instances[0].schema_version = version;
      resource.instances[0].attributes = attributes;
      pulled.serial++;
      writeFileSync(join(h.folder, "terraform.tfstate"), JSON.stringify(pulled));
    };
    const { title, ...rest } = resource.instances[0].attributes;
    push(0, { ...rest, name: title, extra: true });
    expect(await h.plan()).toEqual([]);
    push(1, { ...rest, title, beds: [{ rows: "many" }] });
    expect(await h.fails("plan")).toMatch(
      /The state cannot be read.*does not fit its schema: `beds`: `rows`: .*Restore a backup of the state/,
    );
    push(2, { ...rest, title });
    expect(await h.fails("plan")).toContain("created by a newer provider version");
  }));

test("a create that fails after the object exists keeps it in the state, as tainted", () =>
  world(async (h, garden) => {
    garden.fault = { create: "after" };
    h.config(plot('title = "t"'));
    expect(await h.fails("apply", "-auto-approve")).toContain("it rained");
    expect(await h.state(at)).toMatchObject({ id: "one", title: "t", uid: null });
    garden.fault = undefined;
    expect((await h.plan()).map((c) => c.change.actions)).toEqual([["delete", "create"]]);
    await h.apply();
    expect(await h.plan()).toEqual([]);
  }));

test.each([
  ["throw", "the spade broke"],
  ["error", "There is no room for this garden."],
  ["null", "it was created or updated and has no state. Please report this."],
  ["wrong", "`title` has another value after apply than was planned. Please report this."],
  ["unknown", "`uid` is still unknown after apply. Please report this."],
] as const)("a create that goes wrong (%s) is said in plain words", (create, want) =>
  world(async (h, garden) => {
    garden.fault = { create };
    h.config(plot('title = "t"\n beds = [{ plant = "iris" }]'));
    expect(await h.fails("apply", "-auto-approve")).toContain(want);
  }),
);

test("Ctrl-C ends a waiting create at once, and what exists is kept", () =>
  world(async (h, garden) => {
    garden.fault = { create: "hang" };
    h.config(plot('title = "t"'));
    const apply = h.start("apply", "-auto-approve", "-no-color");
    while (garden.store.size === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    apply.interrupt();
    expect((await apply.result).stderr).toContain("interrupted by the user");
    expect(await h.state(at)).toMatchObject({ id: "one" });
  }));

test("a read that gives an unknown value is said in plain words", () =>
  world(async (h, garden) => {
    await h.apply(plot('title = "t"'));
    garden.fault = { read: "unknown" };
    expect(await h.fails("plan")).toContain("garden_plot: `title` is still unknown");
  }));

test("values of three megabytes pass", () =>
  world(async (h) => {
    h.config(`variable "long" { type = string }\n${plot("title = var.long")}`);
    writeFileSync(join(h.folder, "terraform.tfvars.json"), JSON.stringify({ long: "xyz".repeat(1 << 20) }));
    await h.apply();
    expect(((await h.state(at)) as { title: string }).title.length).toBe(3 << 20);
    expect(await h.plan()).toEqual([]);
  }));
