export { parseGoDuration } from "../../../openapi/rules/go-duration.ts";
