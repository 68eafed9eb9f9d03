import { fingerprintOf } from "../../../../openapi/known-agents.ts";
import { showAge } from "../../../base/lang/duration.ts";
import { type Column, field, type Json, state } from "../../show.ts";
import type { Readiness } from "./readiness.ts";

/** How people see the objects of a noun. */
export interface View {
  columns: Column[];
  readiness(object: Json): Readiness;
}

export const id: Column = { head: "ID", text: (o, c) => c.bold(field(o, "id")) };
export const scope: Column = {
  head: "SCOPE",
  wide: true,
  text: (o) => [field(o, "org"), field(o, "project")].filter(Boolean).join("/"),
};
export const age: Column = { head: "AGE", path: "createdAt", text: (o) => showAge(o.createdAt) };
export const connected: Column = { head: "CONNECTED", text: (o, c) => state(o.status?.connected ? "yes" : "no", c) };
export const seen: Column = {
  head: "SEEN",
  text: (o) => (o.status?.lastSeenAt ? `${showAge(o.status.lastSeenAt)} ago` : "never"),
};
export const sealKey: Column = {
  head: "SEAL KEY",
  wide: true,
  text: (o) => (o.status?.sealKey ? fingerprintOf(String(o.status.sealKey.publicKey)) : ""),
};
export const delivery: Column = {
  head: "DELIVERY",
  text: (o, c) => (o.deletionRequestedAt ? c.yellow("Deleting") : state(o.status?.delivery?.state, c)),
};
export const connection: Column = { head: "CONNECTION", text: (o, c) => state(o.status?.connection?.state, c) };
