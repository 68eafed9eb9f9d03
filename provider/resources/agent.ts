import { agent as noun } from "../generated/agent.ts";
import { createResource } from "./crud.ts";

export const agent = createResource(noun);
