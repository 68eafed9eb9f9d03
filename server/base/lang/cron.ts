import type { Schedule } from "../../../openapi/rules/cron.ts";

export { parseCron, type Schedule } from "../../../openapi/rules/cron.ts";

const MINUTE = 60_000;
const DAY = 86_400_000;

/** Whether a minute of the schedule lies strictly between two moments; both as the wall clock of the schedule's zone, written as UTC. */
export function fallsBetween(schedule: Schedule, after: number, before: number): boolean {
  for (let day = Math.floor(after / DAY) * DAY; day < before; day += DAY) {
    if (!onDay(schedule, new Date(day))) continue;
    for (const hour of schedule.hours)
      for (const minute of schedule.minutes) {
        const at = day + (hour * 60 + minute) * MINUTE;
        if (at > after && at < before) return true;
      }
  }
  return false;
}

/** The first minute of the schedule at or after a moment and before another. */
export function fireAfter(schedule: Schedule, after: number, before: number): number | undefined {
  for (let day = Math.floor(after / DAY) * DAY; day < before; day += DAY) {
    const times = firesOn(schedule, day).filter((at) => at >= after && at < before);
    if (times.length) return Math.min(...times);
  }
  return undefined;
}

/** The last minute of the schedule before a moment and after another. */
export function fireBefore(schedule: Schedule, before: number, after: number): number | undefined {
  for (let day = Math.floor(before / DAY) * DAY; day + DAY > after; day -= DAY) {
    const times = firesOn(schedule, day).filter((at) => at > after && at < before);
    if (times.length) return Math.max(...times);
  }
  return undefined;
}

function firesOn(schedule: Schedule, day: number): number[] {
  if (!onDay(schedule, new Date(day))) return [];
  return [...schedule.hours].flatMap((hour) =>
    [...schedule.minutes].map((minute) => day + (hour * 60 + minute) * MINUTE),
  );
}

/** With both a day of the month and one of the week, either of them is enough. */
function onDay({ months, days, weekdays, anyDay, anyWeekday }: Schedule, date: Date): boolean {
  if (!months.has(date.getUTCMonth() + 1)) return false;
  const [day, weekday] = [days.has(date.getUTCDate()), weekdays.has(date.getUTCDay())];
  return anyDay || anyWeekday ? day && weekday : day || weekday;
}
