/** Layers in the order in which they are looked at; constants for machines. */
export const LAYERS = [
  "settings",
  "dns",
  "proxy",
  "tcp",
  "tls",
  "http",
  "clock",
  "token",
  "identity",
  "workdir",
  "capabilities",
  "sandbox",
  "secrets",
] as const;
export type Layer = (typeof LAYERS)[number];

/** What one look found. */
export interface Check {
  layer: Layer;
  state: "ok" | "warn" | "fail" | "skipped";
  message: string;
}

export const ok = (layer: Layer, message: string): Check => ({ layer, state: "ok", message });
export const warn = (layer: Layer, message: string): Check => ({ layer, state: "warn", message });
export const fail = (layer: Layer, message: string): Check => ({ layer, state: "fail", message });
export const skipped = (layer: Layer, message: string): Check => ({ layer, state: "skipped", message });
