import { project as noun } from "../generated/project.ts";
import { createResource } from "./crud.ts";

export const project = createResource(noun);
