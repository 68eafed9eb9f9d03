/** Bounds of nesting, which are checked before a text from outside is parsed. The rules of the contract hold the same ones, in every program. */
export { isJsonTooDeep, MAX_NESTING, readJson, TOO_DEEP } from "../../../openapi/rules/nesting.ts";
export { readDocument, readDocuments, readYaml, yamlTokens } from "../../../openapi/rules/yaml-nesting.ts";
