import { webhook as noun } from "../generated/webhook.ts";
import { createResource } from "./crud/resource.ts";

export const webhook = createResource(noun);
