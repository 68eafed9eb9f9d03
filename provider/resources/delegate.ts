import { delegate as noun } from "../generated/delegate.ts";
import { createResource } from "./crud.ts";

export const delegate = createResource(noun);
