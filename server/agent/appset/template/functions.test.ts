import { TEMPLATE_FUNCTIONS } from "../../../../openapi/rules/template/template.ts";
import { FUNCTIONS } from "./render.ts";

test("the functions that the service and the provider let pass are those that the engine has", () => {
  expect([...TEMPLATE_FUNCTIONS].sort()).toEqual([...FUNCTIONS.keys()].sort());
});
