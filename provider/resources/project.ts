import { project as noun } from "../generated/project.ts";
import { createResource } from "./crud/resource.ts";

export const project = createResource(noun);
