import { argoProjectMapping as noun } from "../generated/argo-project-mapping.ts";
import { createResource } from "./crud/resource.ts";

export const argoProjectMapping = createResource(noun);
