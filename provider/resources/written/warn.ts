import type { Attributes } from "../../schema/attribute.ts";
import type { Diagnostics } from "../../schema/diagnostics.ts";
import { stringField, type ValueMap } from "../../value/value.ts";
import { type SourceFile, sourceFiles } from "./files.ts";
import { type Misspelt, printMisspelt, type Written, writtenIn } from "./misspelt.ts";

/**
 * Warns of names inside objects that no schema has. Terraform drops them before it asks a provider, so that they are looked for in the files
 * themselves. Objects that are worked out (variables, `merge`, `for`) and files in JSON are not looked into.
 */
export class Watch {
  readonly #folder: string;
  #files: SourceFile[] | undefined;
  readonly #found = new Map<string, { file: string; written: Written }[]>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  warn(type: string, attributes: Attributes, config: ValueMap, diagnostics: Diagnostics): void {
    const id = stringField(config, "id");
    const found = this.#of(type, attributes);
    const mine = found.filter(({ written }) => written.id === undefined || written.id === id);
    for (const one of mine) {
      // A resource with a computed id cannot be recognised again: its names are reported once, by their lines.
      if (one.written.id === undefined) found.splice(found.indexOf(one), 1);
      for (const misspelt of one.written.misspelt) say(one.file, misspelt, one.written.id !== undefined, diagnostics);
    }
  }

  #of(type: string, attributes: Attributes): { file: string; written: Written }[] {
    const known = this.#found.get(type);
    if (known) return known;
    this.#files ??= sourceFiles(this.#folder);
    const schemaOf = (one: string) => (one === type ? attributes : undefined);
    const found = this.#files
      .filter(({ text }) => text.includes(`"${type}"`))
      .flatMap(({ name, text }) => writtenIn(text, schemaOf).map((written) => ({ file: name, written })));
    this.#found.set(type, found);
    return found;
  }
}

function say(file: string, misspelt: Misspelt, isHere: boolean, diagnostics: Diagnostics): void {
  diagnostics.warning(
    "An attribute that Terraform drops",
    printMisspelt(file, misspelt),
    isHere ? misspelt.within : undefined,
  );
}
