import documentChecker from "express-openapi-validator/dist/framework/openapi.schema.validator.js";
import { validators } from "./validate.ts";

test("a start compiles no schema of OpenAPI itself: the document is checked when it is generated", () => {
  expect(validators).toBeDefined();
  const checker = new documentChecker.OpenAPISchemaValidator({ version: "3.1.0", validateApiSpec: false });
  // The library keeps what it has compiled in a property.
  expect(Object.keys(checker)).toEqual([]);
});
