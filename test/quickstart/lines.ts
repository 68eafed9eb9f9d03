/** Printed lines are no longer: a terminal of this width shows them whole. */
const WIDTH = 100;
const COLUMN = 62;

/** Commands with what each is for beside it, or above it where the line is too short for both. Long ones go on behind a `\`, so that they can be pasted. */
export function commandLines(
  all: readonly (readonly [command: string, why: string])[],
  dim: (text: string) => string = (text) => text,
): string[] {
  return all.flatMap(([command, why]) => {
    const beside = `  ${command.padEnd(COLUMN)} `;
    // Behind a longer command the words would look like a part of it.
    if (command.length <= COLUMN && beside.length + why.length <= WIDTH) return [beside + dim(why)];
    return [`  ${dim(`# ${why}`)}`, ...wrapped(command)];
  });
}

function wrapped(command: string): string[] {
  const lines: string[] = [];
  let line = " ";
  // A flag stays with its value.
  for (const part of command.split(/ (?=--|")/)) {
    if (line.trim() && line.length + 1 + part.length + 2 > WIDTH) {
      lines.push(`${line} \\`);
      line = "     ";
    }
    line += ` ${part}`;
  }
  return [...lines, line];
}
