import { pipeline as noun } from "../generated/pipeline.ts";
import { createResource } from "./crud.ts";

export const pipeline = createResource(noun);
