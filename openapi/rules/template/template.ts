import { quoted } from "../fault.ts";
import { didYouMean } from "../suggest.ts";
import { TemplateError } from "./template-lex.ts";
import { parse } from "./template-parse.ts";

/** The functions that templates of sets have: Go's own, Sprig's without those that read the environment, and Argo CD's. */
export const TEMPLATE_FUNCTIONS: readonly string[] = (
  "abbrev abbrevboth add add1 add1f addf adler32sum ago all and any append atoi b32dec b32enc b64dec b64enc base bcrypt " +
  "biggest buildCustomCert call camelcase cat ceil chunk clean coalesce compact concat contains date dateInZone dateModify " +
  "date_in_zone date_modify decryptAES deepCopy deepEqual default derivePassword dict dig dir div divf duration " +
  "durationRound empty encryptAES eq ext fail first float64 floor fromJson fromYaml fromYamlArray ge genCA genCAWithKey " +
  "genPrivateKey genSelfSignedCert genSelfSignedCertWithKey genSignedCert genSignedCertWithKey get gt has hasKey hasPrefix " +
  "hasSuffix hello html htmlDate htmlDateInZone htpasswd indent index initial initials int int64 isAbs join js kebabcase " +
  "keys kindIs kindOf last le len list lower lt max maxf merge mergeOverwrite min minf mod mul mulf mustAppend mustChunk " +
  "mustCompact mustDateModify mustDeepCopy mustFirst mustFromJson mustHas mustInitial mustLast mustMerge " +
  "mustMergeOverwrite mustPrepend mustPush mustRegexFind mustRegexFindAll mustRegexMatch mustRegexReplaceAll " +
  "mustRegexReplaceAllLiteral mustRegexSplit mustRest mustReverse mustSlice mustToDate mustToJson mustToPrettyJson " +
  "mustToRawJson mustUniq mustWithout must_date_modify ne nindent normalize nospace not now omit or osBase osClean osDir " +
  "osExt osIsAbs pick pluck plural prepend print printf println push quote randAlpha randAlphaNum randAscii randBytes " +
  "randInt randNumeric regexFind regexFindAll regexMatch regexQuoteMeta regexReplaceAll regexReplaceAllLiteral regexSplit " +
  "repeat replace rest reverse round semver semverCompare seq set sha1sum sha256sum sha512sum shuffle slice slugify " +
  "snakecase sortAlpha split splitList splitn squote sub subf substr swapcase ternary title toDate toDecimal toJson " +
  "toPrettyJson toRawJson toString toStrings toYaml trim trimAll trimPrefix trimSuffix trimall trunc tuple typeIs " +
  "typeIsLike typeOf uniq unixEpoch unset until untilStep untitle upper urlJoin urlParse urlquery uuidv4 values without " +
  "wrap wrapWith"
).split(" ");

const KNOWN: ReadonlySet<string> = new Set(TEMPLATE_FUNCTIONS);

/** Whether a text has parameters to fill in. */
export const isTemplate = (text: string): boolean => text.includes("{{");

/** A text of a set with Go's templates. */
export function goTemplateFault(text: string): string | undefined {
  if (!isTemplate(text)) return undefined;
  let unknown: string | undefined;
  try {
    parse(text, (name) => {
      if (!KNOWN.has(name)) unknown ??= name;
      return true;
    });
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const why = error.message.replace(/^template: base:\d+: /, "");
    return `The template ${quoted(text)} cannot be read: ${why}. Write \`{{ .name }}\` for a parameter.`;
  }
  if (unknown === undefined) return undefined;
  return `There is no template function \`${unknown.slice(0, 64)}\`.${didYouMean(unknown, TEMPLATE_FUNCTIONS) || ` A parameter has a dot in front: \`{{ .${unknown.slice(0, 64)} }}\`.`}`;
}

/** A text of a set with the older templates, `{{name}}`. */
export function plainTemplateFault(text: string): string | undefined {
  const open = text.lastIndexOf("{{");
  return open < 0 || text.indexOf("}}", open) >= 0
    ? undefined
    : `The template ${quoted(text)} has a \`{{\` that is not closed.`;
}
