import { explainTerraform, readErrors, readUi } from "./diagnostics.ts";

const error = (summary: string, detail = "", more = {}) => ({ severity: "error" as const, summary, detail, ...more });

test.each<[string, string, string[]]>([
  [
    "a message",
    '{"@level":"info","@message":"Plan: 1 to add, 0 to change, 0 to destroy.","type":"change_summary"}',
    ["Plan: 1 to add, 0 to change, 0 to destroy."],
  ],
  ["what only begins", '{"@message":"x: Refreshing state...","type":"refresh_start"}', []],
  [
    "an error with its place",
    '{"type":"diagnostic","diagnostic":{"severity":"error","summary":"Bad","detail":"very","range":{"filename":"main.tf","start":{"line":3}}}}',
    ["Error: main.tf:3: Bad", "very"],
  ],
  ["a line of a program that is run", "hello", ["hello"]],
  ["JSON that is not a message", "null", ["null"]],
])("%s is told as people read it", (_name, line, want) => {
  expect(readUi(line).text).toEqual(want);
});

const LOCK = `Error message: the state is already locked by another terraform client
Lock Info:
  ID:        1f0a
  Path:      
  Operation: OperationTypeApply
  Who:       jane@laptop
  Version:   1.11.4
  Created:   2026-01-02 03:04:05 UTC
  Info:      
`;

test.each<[string, Parameters<typeof explainTerraform>[0], string, RegExp]>([
  [
    "who holds a lock, since when and for what",
    [error("Error acquiring the state lock", LOCK)],
    "LockHeld",
    /locked by jane@laptop since 2026-01-02 03:04:05 UTC for OperationTypeApply \(lock 1f0a\)/,
  ],
  ["a stale plan", [error("Saved plan is stale")], "PlanStale", /plan again/],
  [
    "a missing variable",
    [error("No value for required variable", 'The root module input variable "x" is not set')],
    "VariablesInvalid",
    /"x" is not set; give it/,
  ],
  [
    "all others by the step that failed, with their places",
    [error("Bad", "", { range: { filename: "a.tf", start: { line: 7 } } }), error("Worse", "", { address: "x.y" })],
    "Step",
    /^a\.tf:7: Bad; x\.y: Worse$/,
  ],
  ["nothing at all", [], "Step", /without saying why/],
])("tells %s", (_name, errors, reason, says) => {
  const told = explainTerraform(errors, "Step");
  expect([told.reason, told.message]).toEqual([reason, expect.stringMatching(says)]);
});

test("errors of commands without JSON are read from their boxes", () => {
  const box = [
    "╷",
    "│ Error: Unsupported block type",
    "│ ",
    '│   on main.tf line 12, in resource "a" "b":',
    "│   12:   blah {",
    "│ ",
    "│ Blocks of type blah are not expected here.",
    "╵",
  ];
  expect(readErrors(box)).toEqual([
    {
      severity: "error",
      summary: "Unsupported block type",
      range: { filename: "main.tf", start: { line: 12 } },
      detail: "Blocks of type blah are not expected here.",
    },
  ]);
});
