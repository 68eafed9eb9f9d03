/** Keys that are maps or lists. The rules for texts look for them too, in every program. */
export { collectionKey } from "../../../openapi/rules/yaml-keys.ts";
