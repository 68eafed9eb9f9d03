import { writeModule } from "./hcl.ts";
import type { Block } from "./schema.ts";

const schema: Record<string, Block> = {
  thing: {
    attributes: { name: { type: "string" } },
    block_types: { part: { nesting_mode: "list", block: { attributes: {} } } },
  },
};
const find = (_: string, type: string) => schema[type]!;
const write = (stack: Record<string, unknown>, comments = {}) => writeModule(stack as never, find, comments)["main.tf"];

test("the schema tells blocks from attributes", () => {
  const body = { tags: [{ a: 1 }], part: [{ size: 1 }, { size: 2 }], name: "n" };
  expect(write({ resource: { thing: { x: body } } })).toBe(`resource "thing" "x" {
  name = "n"
  tags = [{
    a = 1
  }]

  part {
    size = 1
  }

  part {
    size = 2
  }
}
`);
});

test("meta arguments stand apart, and hold references", () => {
  const body = {
    name: "n",
    count: 2,
    depends_on: ["thing.y"],
    lifecycle: { ignore_changes: ["name"], prevent_destroy: true },
  };
  expect(write({ resource: { thing: { x: body } } }, { "thing.x": "Why." })).toBe(`# Why.
resource "thing" "x" {
  count = 2

  name = "n"

  lifecycle {
    ignore_changes  = [name]
    prevent_destroy = true
  }

  depends_on = [thing.y]
}
`);
});

test("what is referred to comes first", () => {
  const text = write({
    resource: { thing: { a: { name: "${thing.b.name}" }, b: { name: "${data.thing.c.name}" } } },
    data: { thing: { c: {} } },
  })!;
  expect([...text.matchAll(/^\w+ "thing" "(\w)"/gm)].map((m) => m[1])).toEqual(["c", "b", "a"]);
});

test("a kind of block that it does not know stops it", () => {
  expect(() => write({ moved: [{}] })).toThrow("modules have no `moved` blocks yet");
});
