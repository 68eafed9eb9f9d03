import { words } from "../../contract/patterns.ts";

/** Names as Kubernetes has them, which most ids follow. */
const NAME =
  "a name of small letters, digits and `-` that begins and ends with a letter or digit and has at most 63 signs, for example `team-a`";
const REVISION =
  "a branch, tag or commit without blanks and without any of `~ ^ : ? * [ \\`, for example `main` or `v1.2.0`";
const RELATIVE = "a path inside the repository, without `/` in front and without `..`, for example `apps/web`";
const VARIABLE = "the name of a variable: letters, digits and `_`, with no digit in front, for example `LOG_LEVEL`";

/**
 * What each pattern of the contract asks for, in words and with an example. A message with the expression itself helps only those who can
 * read it. A pattern of a single noun has its words beside it in the spec (`x-words`). A test compares this list with the contract.
 */
const WORDS: Readonly<Record<string, string>> = {
  ...words,
  "^[a-z]+$": "small letters, for example `applications`",
  "^https?://[^\\s@]+$":
    "an address that begins with `https://` or `http://` and holds no user or password, for example `https://git.example.com`",
  "^(?!-)[^\\s~^:?*\\[\\\\]*$": REVISION,
  "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$": NAME,
  "^https://[^\\s@]+$":
    "an address that begins with `https://` and holds no user or password, for example `https://k8s.example.com:6443`",
  "^[A-Za-z0-9._-]+$": "letters, digits, `.`, `_` and `-`, for example `team-a.1`",
  "^(?!-)[^\\s]+$": "a version without blanks and without `-` in front, for example `1.2.3`",
  "^[A-Za-z0-9:/_-]+$": "a name or an ARN of letters, digits, `:`, `/`, `_` and `-`, for example `web`",
  "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$": "a name of small letters, digits, `-` and `.`, for example `web.prod`",
  "^(https?://[^\\s@]+|ssh://[^\\s]+|[A-Za-z0-9_.-]+@[^\\s:]+:[^\\s]+|oci://[^\\s@]+)$":
    "the address of a repository: https://…, ssh://…, user@host:path or oci://…, for example `https://git.example.com/team/app.git`",
  "^[A-Za-z_][A-Za-z0-9_]*$": VARIABLE,
  "^[A-Za-z_][A-Za-z0-9_]{0,127}$": VARIABLE,
  "^[A-Za-z0-9][A-Za-z0-9._-]*$":
    "letters, digits, `.`, `_` and `-`, with a letter or digit in front, for example `web-1.2`",
  "^[A-Za-z0-9][A-Za-z0-9_.-]*$":
    "letters, digits, `.`, `_` and `-`, with a letter or digit in front, for example `web-1.2`",
  "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$":
    "a name of small letters, digits and `-` that begins and ends with a letter or digit, for example `web-1`",
  "^[A-Za-z0-9_.-]+$": "letters, digits, `_`, `.` and `-`, for example `web_app`",
  "^(https?|socks5)://[^\\s@]+$":
    "the address of a proxy without user and password, for example `http://proxy.example.com:3128`",
  "^((account|org)\\.)?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$":
    "the id of an object of the same scope, or `org.` or `account.` and the id of one of a scope above, for example `account.prod`",
  "^[0-9]{1,9}(ms|s|m|h)$": "a duration: a whole number with `ms`, `s`, `m` or `h`, for example `90s`",
  "^[0-9]{1,9}(ms|s|m|h|d)$": "a duration: a whole number with `ms`, `s`, `m`, `h` or `d`, for example `2d`",
  "^[A-Za-z0-9][-A-Za-z0-9_.:/]{0,62}$":
    "a tag of at most 63 letters, digits and `- _ . : /`, with a letter or digit in front, for example `region:eu-west`",
  "^[A-Za-z0-9_-]{22}$": "16 random bytes as base64url, which is 22 signs, for example `AAECAwQFBgcICQoLDA0ODw`",
  "^[A-Z][A-Za-z]{0,62}$": "letters that begin with a capital, for example `DiscoveryIncomplete`",
  "^[A-Z][A-Za-z0-9]{0,62}$": "letters and digits that begin with a capital, for example `ListFailed`",
  "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/(-|[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)$":
    "an organization and a project, with `-` for no project, for example `acme/web` or `acme/-`",
  "^[A-Za-z0-9_-]+$": "letters, digits, `_` and `-`, for example `values`",
  "^(?!/)(?!.*(^|/)\\.\\.?(/|$))[^\\0\\\\]{1,255}$":
    "a path without `/` in front, without `.` and `..` as parts and without `\\`, for example `config/app.yaml`",
  "^t-[0-9a-f]{20}$": "the id of a task: `t-` and 20 hexadecimal digits, for example `t-0123456789abcdef0123`",
  "^(?!/)(?!-)(?!.*(^|/)\\.\\.(/|$))[^\\0\\\\]*$":
    "a path without `/` or `-` in front, without `..` and without `\\`, for example `deploy/web`",
  "^[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9._/-]*)?$":
    "a registry without `https://`, for example `registry.example.com:5000/team`",
  "^[a-z0-9-]+$": "small letters, digits and `-`, for example `eu-west-1`",
  "^(?!-)[A-Za-z0-9][A-Za-z0-9._:/@-]*$": "an image, for example `registry.example.com/team/web:1.2`",
  "^oci://[^\\s@]+$": "an address that begins with `oci://`, for example `oci://registry.example.com/charts/web`",
  "^[A-Za-z_][A-Za-z0-9_-]*$":
    "the name of a variable: letters, digits, `_` and `-`, with no digit in front, for example `region`",
  "^[A-Za-z0-9_*-]+$": "the type of a resource, with `*` for any text, for example `aws_iam_*`",
  "^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)+$": "owner and repository with `/` between them, for example `team/web`",
  "^(?!-)(?!.*\\.\\.)[A-Za-z0-9._/-]+$":
    "the name of a branch, without `..` and without `-` in front, for example `release/1.2`",
  "^(https?://[^\\s@]+|ssh://[^\\s]+|[A-Za-z0-9_.-]+@[^\\s:]+:[^\\s]+)$":
    "the address of a Git repository: https://…, ssh://… or user@host:path, for example `https://git.example.com/team/app.git`",
  "^[a-z0-9]+/[a-z0-9]+(/[a-z0-9]+)?$": "a platform, for example `linux/amd64`",
  "^[A-Za-z0-9][A-Za-z0-9._/-]*$":
    "letters, digits, `.`, `_`, `/` and `-`, with a letter or digit in front, for example `org.example/team`",
  "^[a-z0-9./-]+$": "an API version, for example `apps/v1`",
  "^[A-Za-z0-9]+$": "a kind: letters and digits, for example `Deployment`",
  "^[^-=\\s][^=\\s]*$": "the path of a value, without `=`, blanks and `-` in front, for example `image.tag`",
  "^(oci|https?)://[^\\s@]+$":
    "an address that begins with `oci://`, `https://` or `http://`, for example `oci://registry.example.com/charts`",
  "^[A-Za-z_].*$": "the address of a resource, for example `module.web.aws_instance.a`",
  "^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*$":
    "a group of Maven: names with `.` between them, for example `com.example.web`",
  "^[a-z0-9.]+$": "small letters, digits and `.`, for example `jar`",
  "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}$": "the name of a header, for example `X-Request-Id`",
  "^[0-9a-f]{40,64}$":
    "the whole id of a commit: 40 to 64 hexadecimal digits, for example `1f2e3d4c5b6a79880716253443526170f8e9dacb`",
  "^(https?://[^\\s@]+|ssh://[^\\s]+|[A-Za-z0-9_.-]+@[^\\s:]+:[^\\s]*|oci://[^\\s@]+)$":
    "the beginning of the addresses of repositories: https://…, ssh://…, user@host: or oci://…, for example `https://git.example.com/team/`",
  "^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$":
    "a name of at most 128 letters, digits and `. _ + -`, with a letter or digit in front, for example `web-1.2.tgz`",
  "^[0-9]{1,19}$": "a number of at most 19 digits, for example `42`",
  "^[0-9a-f]{64}$":
    "a SHA-256 digest: 64 hexadecimal digits, for example `e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855`",
};

/** `must be …` for a text that a pattern refuses. */
export function patternFault(pattern: string): string {
  return `must be ${WORDS[pattern] ?? "of another form; see the documentation of this field"}`;
}

export const PATTERNS: readonly string[] = Object.keys(WORDS);

/** Puts the words of its pattern into a message of a validator. */
export const inWords = (message: string): string =>
  message.replace(/^must match pattern "(.*)"$/s, (_, pattern: string) => patternFault(pattern));
