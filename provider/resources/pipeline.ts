import { pipeline as noun } from "../generated/pipeline.ts";
import { createResource } from "./crud/resource.ts";

export const pipeline = createResource(noun);
