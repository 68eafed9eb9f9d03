import { organization as noun } from "../generated/organization.ts";
import { createResource } from "./crud/resource.ts";

export const organization = createResource(noun);
