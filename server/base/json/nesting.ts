/** Bounds of nesting, which hold before a text of somebody else is parsed. The rules of the contract hold the same ones, in every program. */
export { isJsonTooDeep, MAX_NESTING, readJson, TOO_DEEP } from "../../../openapi/rules/nesting.ts";
export { readDocument, readDocuments, readYaml, yamlTokens } from "../../../openapi/rules/yaml-nesting.ts";
