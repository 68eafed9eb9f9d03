import { CHECKS } from "./table.ts";
import { judged } from "./testing.ts";

const TYPES = [
  "Ready",
  "Available",
  "Synced",
  "Degraded",
  "Established",
  "Valid",
  "Progressing",
  "Admitted",
  "Accepted",
];
const STATES = ["True", "False", "Unknown"].flatMap((status) =>
  TYPES.map((type) => ({ conditions: [{ type, status }] })),
);
/** What a controller has hardly begun to write. */
const STATUSES: (object | undefined)[] = [undefined, {}, { conditions: [] }, { conditions: [{}] }, ...STATES];

test.each(Object.keys(CHECKS).filter((kind) => !kind.includes("*")))(
  "%s: what is missing in the status is not in the message",
  (kind) => {
    for (const status of STATUSES) {
      const said = judged(kind, { spec: {}, status });
      expect([status, said]).toEqual([status, said?.replace(/undefined|null|NaN|\[object/g, "(missing)")]);
    }
  },
);
