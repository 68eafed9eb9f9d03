/** Prometheus' text format, version 0.0.4. */
export const EXPOSITION = "text/plain; version=0.0.4; charset=utf-8";

export type Labels = Readonly<Record<string, string | null | undefined>>;

// Values come from agents: a label that nobody reads to its end costs every scrape.
const MOST_CHARACTERS = 256;

/** `{name="web",sync="Synced"}`; labels without a value are left out, which Prometheus takes for the same as empty. */
export function labelsText(labels: Labels): string {
  const pairs = Object.entries(labels).flatMap(([name, value]) => (value ? [`${name}="${escaped(value)}"`] : []));
  return pairs.length ? `{${pairs.join(",")}}` : "";
}

const escaped = (value: string): string =>
  value.slice(0, MOST_CHARACTERS).replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");

/** What stands before the lines of a metric; all lines of one stand together. */
export const heading = (name: string, help: string, type: "gauge" | "counter"): string =>
  `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;

/** The seconds since 1970 of an RFC 3339 time. */
export function secondsOf(time: string | null | undefined): number | undefined {
  const ms = Date.parse(time ?? "");
  return Number.isNaN(ms) ? undefined : ms / 1_000;
}
