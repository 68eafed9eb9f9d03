import { readOutputs } from "./script.ts";
import { interpreter } from "./shell-run.ts";

test.each<[string, string[]]>([
  ["echo", ["/bin/sh"]],
  ["#!/bin/bash\necho", ["/bin/bash"]],
  ["#!/bin/bash -eu\necho", ["/bin/bash", "-eu"]],
  ["#! /usr/bin/env python3\n", ["/usr/bin/env", "python3"]],
  ["#!/usr/bin/env -S node --no-warnings\r\n", ["/usr/bin/env", "-S node --no-warnings"]],
  ["#!/bin/sh", ["/bin/sh"]],
  ["#!relative\n", ["/bin/sh"]],
  ["\n#!/bin/bash\n", ["/bin/sh"]],
])("interpreter of %j", (script, want) => {
  expect(interpreter(script)).toEqual(want);
});

test.each<[string, string, Record<string, string>, number]>([
  ["nothing", "", {}, 0],
  ["values", "a=1\nb.c-d=x=y\n", { a: "1", "b.c-d": "x=y" }, 0],
  ["empty values and blank lines", "\na=\n  \n", { a: "" }, 0],
  ["a later one counts", "a=1\na=2", { a: "2" }, 0],
  ["carriage returns", "a=1\r\n", { a: "1" }, 0],
  ["lines that are none", "a\n=b\n1a=c\nd e=f\n", {}, 4],
  ["the exit code is not theirs", "exitCode=0", {}, 1],
  ["a value that is too long", `a=${"x".repeat(20_000)}`, {}, 1],
  [
    "too many",
    Array.from({ length: 300 }, (_, i) => `n${i}=`).join("\n"),
    Object.fromEntries(Array.from({ length: 256 }, (_, i) => [`n${i}`, ""])),
    44,
  ],
  [
    "names of Object",
    "constructor=1\n__proto__=2\n",
    Object.fromEntries([
      ["constructor", "1"],
      ["__proto__", "2"],
    ]),
    0,
  ],
])("outputs: %s", (_name, text, outputs, wrongLines) => {
  expect(readOutputs(text)).toEqual({ outputs, wrongLines });
});
