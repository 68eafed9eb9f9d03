import { expand } from "./env.ts";

test.each([
  ["$A-${B}", "1-2"],
  ["$$A ${$}A", "$A $A"],
  ["$NOPE${NOPE}x", "x"],
  ["$1a ${} ${", "a  "],
  ["100$ $", "100$ $"],
  ["$A_x $Ax", " "],
  ["${constructor}", ""],
])("%s with what the build knows", (text, want) => expect(expand(text, { A: "1", B: "2" })).toBe(want));
