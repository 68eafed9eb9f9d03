import { didYouMean } from "../../../openapi/rules/suggest.ts";
import type { Attribute, Attributes } from "../../schema/attribute.ts";
import { attr, index, type Path, print, root } from "../../value/path.ts";
import { type Token, tokensOf } from "./tokens.ts";

/** A name inside an object that Terraform drops, because its schema has none like it. */
export interface Misspelt {
  readonly name: string;
  /** The attribute that it was written in. */
  readonly within: Path;
  readonly line: number;
  readonly hint: string;
}

/** A resource as a file has it. */
export interface Written {
  readonly type: string;
  /** Undefined when it is worked out. */
  readonly id: string | undefined;
  readonly misspelt: readonly Misspelt[];
}

/** The resources of a Terraform file with names in their objects that no schema has. `schemaOf` knows the attributes of a type. */
export function writtenIn(source: string, schemaOf: (type: string) => Attributes | undefined): Written[] {
  const tokens = tokensOf(source);
  return tokens ? new Reader(tokens, schemaOf).file() : [];
}

class Reader {
  readonly #tokens: readonly Token[];
  readonly #schemaOf: (type: string) => Attributes | undefined;
  #at = 0;
  #misspelt: Misspelt[] = [];

  constructor(tokens: readonly Token[], schemaOf: (type: string) => Attributes | undefined) {
    this.#tokens = tokens;
    this.#schemaOf = schemaOf;
  }

  file(): Written[] {
    const out: Written[] = [];
    while (this.#at < this.#tokens.length) {
      const [word, type, , brace] = this.#tokens.slice(this.#at, this.#at + 4);
      const attributes =
        word?.value === "resource" && type?.kind === "text" && brace?.value === "{"
          ? this.#schemaOf(type.value)
          : undefined;
      if (attributes) {
        this.#at += 4;
        out.push(this.#resource(type!.value, attributes));
      } else this.#skipOne();
    }
    return out.filter(({ misspelt }) => misspelt.length > 0);
  }

  /** The body of a block. Core itself refuses what its schema has not, so that only values are looked into. */
  #resource(type: string, attributes: Attributes): Written {
    this.#misspelt = [];
    let id: string | undefined;
    while (!this.#done("}")) {
      const [name, sign, value] = this.#tokens.slice(this.#at, this.#at + 3);
      if (name?.kind !== "name" || sign?.value !== "=") {
        this.#skipOne();
        continue;
      }
      this.#at += 2;
      if (name.value === "id" && value?.kind === "text") id = value.value;
      this.#value(attributes[name.value], attr(root, name.value));
    }
    return { type, id, misspelt: this.#misspelt };
  }

  /** One value, to the end of its line or to a comma. */
  #value(a: Attribute | undefined, path: Path): void {
    const { attributes, nesting } = a ?? {};
    if (attributes && this.#isLiteral(nesting === "single" || nesting === "map" ? "{" : "[")) {
      const opening = this.#tokens[this.#at++]!.value;
      if (nesting === "single") this.#object(attributes, path);
      else if (opening === "{") this.#map(attributes, path);
      else this.#elements(attributes, path);
    }
    while (!this.#ends()) this.#skipOne();
  }

  #object(attributes: Attributes, path: Path): void {
    this.#items((name) => {
      const a = attributes[name.value];
      if (!a)
        this.#misspelt.push({
          name: name.value,
          within: path,
          line: name.line,
          hint: didYouMean(name.value, Object.keys(attributes)),
        });
      this.#value(a, attr(path, name.value));
    });
  }
  #map(attributes: Attributes, path: Path): void {
    this.#items(() => this.#value({ presence: "optional", nesting: "single", attributes }, path));
  }
  #elements(attributes: Attributes, path: Path): void {
    for (let i = 0; !this.#done("]"); ) {
      if (this.#tokens[this.#at]!.value === ",") i++;
      if (this.#isLiteral("{")) this.#value({ presence: "optional", nesting: "single", attributes }, index(path, i));
      else this.#skipOne();
    }
  }

  /** The names of an object, each with its value still to be read. */
  #items(visit: (name: Token) => void): void {
    while (!this.#done("}")) {
      const [name, sign] = this.#tokens.slice(this.#at, this.#at + 2);
      if ((name?.kind === "name" || name?.kind === "text") && (sign?.value === "=" || sign?.value === ":")) {
        this.#at += 2;
        visit(name);
      } else this.#skipOne();
    }
  }

  /** Whether an object or list is written out here, and is not made by `for`. */
  #isLiteral(opening: string): boolean {
    if (this.#tokens[this.#at]?.value !== opening) return false;
    let first = this.#at + 1;
    while (this.#tokens[first]?.kind === "line") first++;
    return !(this.#tokens[first]?.value === "for" && this.#tokens[first + 1]?.kind === "name");
  }
  /** Whether this is the end of what began with a bracket; it is read then. The end of the file ends everything. */
  #done(closing: string): boolean {
    const token = this.#tokens[this.#at];
    if (token?.value === closing && token.kind === "sign") this.#at++;
    return token === undefined || (token.value === closing && token.kind === "sign");
  }
  #ends(): boolean {
    const token = this.#tokens[this.#at];
    return token === undefined || token.kind === "line" || (token.kind === "sign" && "}]),".includes(token.value));
  }
  /** One token, with all that its bracket holds. */
  #skipOne(): void {
    const token = this.#tokens[this.#at++];
    if (token?.kind !== "sign") return;
    const closing = { "{": "}", "[": "]", "(": ")" }[token.value];
    if (closing !== undefined) while (!this.#done(closing)) this.#skipOne();
  }
}

/** The message about one. */
export function printMisspelt(file: string, { name, within, line, hint }: Misspelt): string {
  return `\`${print(within)}\` has no attribute \`${name}\` (${file} line ${line}). Terraform drops it, as if it were not there.${hint}`;
}
