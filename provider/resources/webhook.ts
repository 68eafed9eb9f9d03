import { webhook as noun } from "../generated/webhook.ts";
import { createResource } from "./crud.ts";

export const webhook = createResource(noun);
