import type { Facet } from "../../domain/lists/fields.ts";

/** The column of each field; a test compares the stored generated ones with the fields' paths. */
export const COLUMN_OF: Readonly<Record<Facet, string>> = {
  id: "id",
  origin: "origin",
  org: "org",
  project: "project",
  agent: "f_agent",
  cluster: "f_cluster",
  repository: "f_repository",
  service: "f_service",
  environment: "f_environment",
  sync: "f_sync",
  health: "f_health",
  owner: "f_owner",
};
