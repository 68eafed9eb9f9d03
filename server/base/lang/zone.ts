export { isTimeZone } from "../../../openapi/rules/zone.ts";

/** Milliseconds that a zone's clocks are ahead of UTC; an unknown zone is UTC. */
export function zoneOffset(timeZone: string, at: number): number {
  if (!timeZone) return 0;
  try {
    const parts = new Intl.DateTimeFormat("en-US", {
      timeZone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    }).formatToParts(at);
    const of = (type: string) => Number(parts.find((part) => part.type === type)?.value);
    return (
      Date.UTC(of("year"), of("month") - 1, of("day"), of("hour"), of("minute"), of("second")) -
      Math.floor(at / 1_000) * 1_000
    );
  } catch {
    return 0;
  }
}
