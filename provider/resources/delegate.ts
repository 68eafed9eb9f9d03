import { delegate as noun } from "../generated/delegate.ts";
import { createResource } from "./crud/resource.ts";

export const delegate = createResource(noun);
