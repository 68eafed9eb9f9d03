import { render } from "./render.ts";
import { fromJson, TemplateError, type ValueMap } from "./value.ts";

// What Go's text/template with the ecosystem's functions makes of each template.
const PARAMS = {
  s: "a-b",
  n: 5,
  f: 1.5,
  big: 12345678,
  t: true,
  nul: null,
  neg: -3,
  list: [1, 2, 3],
  map: { a: 1, b: { c: "deep" } },
  objs: [
    { name: "x", v: 1 },
    { name: "y", v: 2 },
  ],
};
const ERROR = Symbol("refused");
const refused = (why: string) => ({ [ERROR]: why });
type Want = string | ReturnType<typeof refused>;
const params = () => fromJson(structuredClone(PARAMS)) as ValueMap;

const TABLE: [string, Want][] = [
  ["a{{/* c */}}b", "ab"],
  ["a {{- /* c */ -}} b", "ab"],
  ["{{- .s -}}   x {{ .s }}", "a-bx a-b"],
  ['{{"a"}}{{`b\\n`}}{{"c\\td\\u00e9\\x41\\101"}}{{\'a\'}}', "ab\\nc\tdéAA97"],
  [
    "{{ .n }} {{ .f }} {{ .big }} {{ .t }} {{ .nul }} {{ .missing }} {{ .neg }}",
    "5 1.5 1.2345678e+07 true <no value> <no value> -3",
  ],
  ["{{ .list }} {{ .map }} {{ .map.b.c }}", "[1 2 3] map[a:1 b:map[c:deep]] deep"],
  ["{{ .missing.deep }}", "<no value>"],
  ["{{ .nul.deep }}", refused('executing "base" at <.nul.deep>: nil pointer evaluating interface {}.deep')],
  ["{{ .s.deep }}", refused('executing "base" at <.s.deep>: can\'t evaluate field deep in type interface {}')],
  ["{{ .n.deep }}", refused('executing "base" at <.n.deep>: can\'t evaluate field deep in type interface {}')],
  ['{{ index .list 1 }} {{ index .map "a" }} {{ index .map "b" "c" }} {{ index .map "zz" }}', "2 1 deep <no value>"],
  ["{{ index .list 9 }}", refused('executing "base" at <index .list 9>: error calling index: index out of range: 9')],
  [
    '{{ index .missing "x" }}',
    refused('executing "base" at <index .missing "x">: error calling index: index of untyped nil'),
  ],
  ["{{ index .s 0 }}", "97"],
  [
    '{{ index .list "a" }}',
    refused('executing "base" at <index .list "a">: error calling index: cannot index slice/array with type string'),
  ],
  ['{{ len .s }} {{ len .list }} {{ len .map }} {{ len "é" }}', "3 3 2 2"],
  [
    "{{ len .missing }}",
    refused('executing "base" at <len .missing>: error calling len: reflect: call of reflect.Value.Type on zero Value'),
  ],
  ["{{ len .n }}", refused('executing "base" at <len .n>: error calling len: len of type float64')],
  ["{{ slice .list 1 2 }} {{ slice .list 1 }} {{ slice .list }}", "[2] [2 3] [1 2 3]"],
  ["{{ if .t }}y{{else}}n{{end}}{{ if .missing }}y{{else if .s}}s{{else}}n{{end}}", "ys"],
  ["{{ if not .list }}y{{else}}n{{end}}", "n"],
  [
    "{{ with .map.b }}{{ .c }}{{ $.s }}{{end}}{{ with .missing }}x{{ else with .s }}{{ . }}{{ else }}z{{ end }}",
    "deepa-ba-b",
  ],
  ["{{ range .list }}[{{ . }}]{{ end }}", "[1][2][3]"],
  ["{{ range $i, $v := .list }}{{ $i }}={{ $v }},{{ end }}", "0=1,1=2,2=3,"],
  ["{{ range $v := .list }}{{ $v }},{{ end }}", "1,2,3,"],
  ["{{ range $k, $v := .map }}{{ $k }}={{ $v }};{{ end }}", "a=1;b=map[c:deep];"],
  ["{{ range .missing }}x{{ else }}none{{ end }}", "none"],
  ["{{ range 3 }}{{ . }}{{ end }}", "012"],
  ["{{ range $i := 3 }}{{ $i }}{{ end }}", "012"],
  ["{{ range .s }}x{{ end }}", refused('executing "base" at <.s>: range can\'t iterate over a-b')],
  ["{{ range .list }}{{ if eq . 2.0 }}{{ break }}{{ end }}{{ . }}{{ end }}", "1"],
  ["{{ range .list }}{{ if eq . 2.0 }}{{ continue }}{{ end }}{{ . }}{{ end }}", "13"],
  ["{{ $x := 1 }}{{ $x }}{{ $x = 2 }}{{ $x }}{{ if true }}{{ $x = 3 }}{{ $x := 9 }}{{ end }}{{ $x }}", "123"],
  ["{{ $m := .map }}{{ $m.b.c }}{{ $m.a }}", "deep1"],
  [
    '{{ define "t" }}<{{ . }}>{{ end }}{{ template "t" .s }}{{ template "t" }}{{ template "t" 5 }}',
    "<a-b><<no value>><5>",
  ],
  ['{{ block "b" .s }}B{{ . }}{{ end }}', "Ba-b"],
  ['{{ template "nope" }}', refused('executing "base" at <{{template "nope"}}>: template "nope" not defined')],
  ['{{ define "r" }}{{ template "r" . }}{{ end }}ok', "ok"],
  [
    '{{ eq .s "a-b" }} {{ eq .s "x" "a-b" }} {{ ne .s "x" }} {{ lt 1 2 }} {{ le 2 2 }} {{ gt 1 2 }} {{ ge 2 1 }} {{ lt "a" "b" }}',
    "true true true true true false true true",
  ],
  [
    "{{ eq .n 5 }}",
    refused('executing "base" at <eq .n 5>: error calling eq: incompatible types for comparison: float64 and int'),
  ],
  ["{{ eq .n 5.0 }} {{ eq (int .n) 5 }} {{ lt .f 2.0 }}", "true true true"],
  [
    "{{ eq .missing nil }} {{ eq .s nil }} {{ eq .list .list }}",
    refused(
      'executing "base" at <eq .list .list>: error calling eq: non-comparable type [%!s(float64=1) %!s(float64=2) %!s(float64=3)]: []interface {}',
    ),
  ],
  ["{{ eq .nul nil }}", "true"],
  [
    '{{ lt .n "a" }}',
    refused('executing "base" at <lt .n "a">: error calling lt: incompatible types for comparison: float64 and string'),
  ],
  ["{{ lt .t .t }}", refused('executing "base" at <lt .t .t>: error calling lt: invalid type for comparison')],
  ['{{ and .s .n }} {{ and .missing .n }} {{ or .missing .s }} {{ or "" 0 }} {{ not .s }}', "5 <no value> a-b 0 false"],
  ["{{ and }}", refused('executing "base" at <and>: wrong number of args for and: want at least 1 got 0')],
  [
    "{{ and .s (index .list 99) }}",
    refused('executing "base" at <index .list 99>: error calling index: index out of range: 99'),
  ],
  ["{{ or .s (index .list 99) }}", "a-b"],
  ['{{ .s | upper | printf "%s-%s" "x" }}', "x-A-B"],
  ['{{ print "a" 1 2 "b" .n .missing nil }} {{ println "a" 1 }}', "a1 2b5 <nil> <nil> a 1\n"],
  [
    '{{ printf "%d %s %v %q %t %x %5d|%-5d|%05d %+d" 5 "s" 1.5 "q" true 255 1 2 3 4 }}',
    '5 s 1.5 "q" true ff     1|2    |00003 +4',
  ],
  ['{{ printf "%s %d %v" .n .s .missing }}', "%!s(float64=5) %!d(string=a-b) <nil>"],
  ['{{ printf "%.2f %8.3f %e %g" 1.234 2.5 12345.678 0.00001234 }}', "1.23    2.500 1.234568e+04 1.234e-05"],
  [
    '{{ printf "%s" .list }} {{ printf "%v" .map }} {{ printf "%q" .list }}',
    "[%!s(float64=1) %!s(float64=2) %!s(float64=3)] map[a:1 b:map[c:deep]] [%!q(float64=1) %!q(float64=2) %!q(float64=3)]",
  ],
  [
    '{{ printf "%d" }} {{ printf "x" 1 2 }} {{ printf "%z" 1 }} {{ printf "100%%" }} {{ printf "%!" }}',
    "%!d(MISSING) x%!(EXTRA int=1, int=2) %!z(int=1) 100% %!!(MISSING)",
  ],
  ['{{ printf "%T %T %T %T %T" 1 1.5 "s" .list .map }}', "int float64 string []interface {} map[string]interface {}"],
  ['{{ printf "%5s|%-5s|%.2s|%c|%U" "ab" "ab" "abcd" 65 65 }}', "   ab|ab   |ab|A|U+0041"],
  ['{{ printf "%*d" 5 42 }} {{ printf "%X %o %b %#x" 255 8 5 255 }}', "   42 FF 10 101 0xff"],
  [
    '{{ html "<a&\'\\">" }} {{ js "it\'s <b>" }} {{ urlquery "a b&c" }}',
    "&lt;a&amp;&#39;&#34;&gt; it\\'s \\u003Cb\\u003E a+b%26c",
  ],
  ["{{ upper .n }}", refused('executing "base" at <.n>: wrong type for value; expected string; got float64')],
  ["{{ upper .missing }}", refused('executing "base" at <.missing>: invalid value; expected string')],
  ["{{ trunc 3 .s }} {{ trunc -1 .s }} {{ trunc 99 .s }}", "a-b b a-b"],
  ["{{ trunc .n .s }}", refused('executing "base" at <.n>: wrong type for value; expected int; got float64')],
  ["{{ trunc 1.5 .s }}", refused('executing "base" at <1.5>: expected integer; found 1.5')],
  ["{{ upper 5 }}", refused('executing "base" at <5>: expected string; found 5')],
  ["{{ nope }}", refused('function "nope" not defined')],
  ["{{ upper }}", refused('executing "base" at <upper>: wrong number of args for upper: want 1 got 0')],
  ['{{ upper "a" "b" }}', refused('executing "base" at <upper>: wrong number of args for upper: want 1 got 2')],
  ['{{ .s "x" }}', refused('executing "base" at <.s>: s is not a method but has arguments')],
  ['{{ "a" "b" }}', refused('executing "base" at <"a">: can\'t give argument to non-function "a"')],
  ["{{ nil }}", refused('executing "base" at <nil>: nil is not a command')],
  ["{{ if }}x{{ end }}", refused("missing value for if")],
  ["{{ end }}", refused("unexpected {{end}}")],
  ["{{ if .s }}x", refused("unexpected EOF")],
  ["{{ .s", refused("unclosed action")],
  ["{{ .s }", refused('unexpected "}" in operand')],
  ["{{ ( .s }}", refused("unclosed left paren")],
  ["{{ .s ) }}", refused("unexpected right paren")],
  ['{{ "abc }}', refused("unterminated quoted string")],
  ["{{ $u }}", refused('undefined variable "$u"')],
  ["{{ .s | }}", "a-b"],
  ["{{ 5 | 6 }}", refused("non executable command in pipeline stage 2")],
  ["{{ else }}", refused("unexpected {{else}}")],
  ["{{ range .list }}{{ else }}{{ else }}{{ end }}", refused("expected end; found {{else}}")],
  ["{{ break }}", refused("{{break}} outside {{range}}")],
  ["{{ 1x }}", refused('bad number syntax: "1x"')],
  ["{{ .s@ }}", refused("bad character U+0040 '@'")],
  ['{{ upper .s | lower | title | untitle }} {{ title "hello world-foo bar_baz" }}', "a-B Hello World-Foo Bar_baz"],
  [
    '{{ trim "  a b " }}|{{ trimAll "$" "$5$" }}|{{ trimSuffix "-b" .s }}|{{ trimPrefix "a-" .s }}|{{ trimall "ab" "abcba" }}',
    "a b|5|a|b|c",
  ],
  [
    '{{ repeat 3 "ab" }} {{ nospace " a b c " }} {{ substr 0 2 .s }} {{ substr 1 -1 .s }} {{ substr -1 2 .s }}',
    "ababab abc a- -b a-",
  ],
  [
    '{{ initials "First Try" }} {{ swapcase "This Is A.Test" }} {{ cat "a" 1 .missing "b" }} {{ replace "-" "_" .s }}',
    "FT tHIS iS a.tEST a 1 b a_b",
  ],
  [
    '{{ wrap 10 "the quick brown fox jumps" }} {{ wrapWith 5 "|" "Hello World abcdefghij" }}',
    "the quick\nbrown fox\njumps Hello|World|abcde|fghij",
  ],
  [
    '{{ contains "a" .s }} {{ hasPrefix "a" .s }} {{ hasSuffix "b" .s }} {{ quote .s 5 .missing "x\\"y" }} {{ squote .s .n }}',
    'true true true "a-b" "5" "x\\"y" \'a-b\' \'5\'',
  ],
  ['{{ indent 2 "a\\nb" }}{{ nindent 2 "a\\nb" }}', "  a\n  b\n  a\n  b"],
  ['{{ plural "one" "many" 1 }} {{ plural "one" "many" (len .list) }}', "one many"],
  [
    '{{ snakecase "FirstName" }} {{ snakecase "HTTPServer" }} {{ snakecase "NoHTTPS" }} {{ snakecase "GO_PATH" }} {{ snakecase "GO PATH" }} {{ snakecase "GO-PATH" }} {{ snakecase "http2xx" }} {{ snakecase "HTTP20xOK" }} {{ snakecase "Bld4Floor3rd" }}',
    "first_name http_server no_https go_path go_path go_path http_2xx http_20x_ok bld4_floor_3rd",
  ],
  [
    '{{ camelcase "http_server" }} {{ camelcase "no_https" }} {{ camelcase "_complex__case_" }} {{ camelcase "all" }} {{ camelcase "GOLANG_IS_GREAT" }} {{ camelcase "my-name is" }} {{ camelcase "ALL" }}',
    "HttpServer NoHttps _Complex_Case_ All GolangIsGreat MyNameIs All",
  ],
  [
    '{{ kebabcase "FirstName" }} {{ kebabcase "HTTPServer" }} {{ kebabcase "ThisIsATest" }} {{ kebabcase "a_b c" }}',
    "first-name http-server this-is-a-test a-b-c",
  ],
  [
    '{{ regexMatch "^[A-Za-z0-9._%+-]+@[a-z]+$" "test@acme" }} {{ regexFind "[a-zA-Z][1-9]" "abcd1234" }} {{ regexFindAll "[2,4,6,8]" "123456789" -1 }} {{ regexFindAll "[2,4,6,8]" "123456789" 2 }}',
    "true d1 [2 4 6 8] [2 4]",
  ],
  [
    '{{ regexReplaceAll "a(x*)b" "-ab-axxb-" "${1}W" }} {{ regexReplaceAll "a(x*)b" "-ab-axxb-" "$1W" }} {{ regexReplaceAllLiteral "a(x*)b" "-ab-axxb-" "${1}" }} {{ regexSplit "z+" "pizza" -1 }} {{ regexSplit "z+" "pizzaz" 2 }} {{ regexQuoteMeta "1.2.3" }}',
    "-W-xxW- --- -${1}-${1}- [pi a] [pi az] 1\\.2\\.3",
  ],
  [
    '{{ regexReplaceAll "[^-a-z0-9]+" .s "-" }} {{ regexFind "(?P<y>\\\\d+)" "ab12" }} {{ regexMatch "(?i)ABC" "xabc" }} {{ regexMatch "[[:alpha:]]+" "1" }}',
    "a-b 12 true false",
  ],
  ['{{ regexMatch "(" "x" }}', "false"],
  [
    '{{ mustRegexMatch "a(?=b)" "ab" }}',
    refused(
      'executing "base" at <mustRegexMatch "a(?=b)" "ab">: error calling mustRegexMatch: error parsing regexp: invalid or unsupported Perl syntax: `(?=`',
    ),
  ],
  [
    '{{ list 1 2 3 }} {{ first .list }} {{ last .list }} {{ rest .list }} {{ initial .list }} {{ append .list "x" }} {{ prepend .list "x" }} {{ concat .list (list 1) }} {{ reverse .list }} {{ uniq (list 1 1 2) }} {{ without (list 1 2 3) 2 }} {{ has 2.0 .list }} {{ compact (list 0 1 "") }} {{ chunk 2 (list 1 2 3) }}',
    "[1 2 3] 1 3 [2 3] [1 2] [1 2 3 x] [x 1 2 3] [1 2 3 1] [3 2 1] [1 2] [1 3] true [1] [[1 2] [3]]",
  ],
  [
    '{{ first "x" }}',
    refused('executing "base" at <first "x">: error calling first: Cannot find first on type string'),
  ],
  ["{{ first (list) }}", "<no value>"],
  [
    '{{ join "," .list }} {{ join "-" (list "a" nil "b") }} {{ sortAlpha (list "c" "a" "b") }} {{ splitList "-" .s }} {{ (split "-" .s)._0 }} {{ (splitn "$" 2 "a$b$c")._1 }} {{ toStrings (list 1 2) }}',
    "1,2,3 a-b [a b c] [a b] a b$c [1 2]",
  ],
  [
    "{{ until 3 }} {{ untilStep 3 9 2 }} {{ seq 3 }} {{ seq 1 2 7 }} {{ seq 5 1 }} {{ seq 0 }} {{ seq -2 2 }} {{ seq 10 -3 1 }}",
    "[0 1 2] [3 5 7] 1 2 3 1 3 5 7 5 4 3 2 1 1 0 -2 -1 0 1 2 10 7 4 1",
  ],
  [
    '{{ $d := dict "a" 1 "b" "x" }}{{ $d }} {{ get $d "a" }} {{ get $d "zz" }} {{ hasKey $d "a" }} {{ set $d "c" 3 }} {{ unset $d "a" }} {{ keys $d | sortAlpha }} {{ values (dict "k" 1) }} {{ pick .map "a" }} {{ omit .map "b" }} {{ pluck "a" .map (dict "a" 2) }}',
    "map[a:1 b:x] 1  true map[a:1 b:x c:3] map[b:x c:3] [b c] [1] map[a:1] map[a:1] [1 2]",
  ],
  ['{{ dig "b" "c" "def" .map }} {{ dig "b" "zz" "def" .map }}', "deep def"],
  [
    '{{ dig "a" "c" "def" .map }}',
    refused(
      'executing "base" at <dig "a" "c" "def" .map>: error calling dig: interface conversion: interface {} is float64, not map[string]interface {}',
    ),
  ],
  [
    '{{ merge (dict "a" 1) (dict "a" 2 "b" 3) }} {{ mergeOverwrite (dict "a" 1 "n" (dict "x" 1)) (dict "a" 2 "b" 3 "n" (dict "y" 2)) }}',
    "map[a:1 b:3] map[a:2 b:3 n:map[x:1 y:2]]",
  ],
  ['{{ hasKey .missing "x" }} {{ dict "a" }}', "false map[a:]"],
  [
    '{{ hasKey .s "x" }}',
    refused('executing "base" at <.s>: wrong type for value; expected map[string]interface {}; got string'),
  ],
  [
    '{{ default "d" .missing }} {{ default "d" "" }} {{ default "d" 0 }} {{ default "d" .s }} {{ .missing | default "q" }} {{ empty .s }} {{ coalesce "" .missing 3 }} {{ all 1 "" }} {{ any 0 1 }} {{ ternary "y" "n" true }} {{ true | ternary "y" "n" }}',
    "d d d a-b q false 3 false true y y",
  ],
  ['{{ ternary "y" "n" .s }}', refused('executing "base" at <.s>: wrong type for value; expected bool; got string')],
  [
    '{{ toJson .map }} {{ toPrettyJson .list }} {{ toRawJson "<a>" }} {{ toJson "<a>" }} {{ (fromJson "{\\"a\\":[1,2]}").a }} {{ fromJson "x" }}',
    '{"a":1,"b":{"c":"deep"}} [\n  1,\n  2,\n  3\n] "<a>" "\\u003ca\\u003e" [1 2] <no value>',
  ],
  ['{{ toJson (dict "a" 1 "f" 1.5 "big" 1e21 "l" (list)) }}', '{"a":1,"big":1e+21,"f":1.5,"l":[]}'],
  [
    "{{ add 1 2 3 }} {{ add1 4 }} {{ sub 5 2 }} {{ mul 2 3 4 }} {{ div 7 2 }} {{ mod 7 3 }} {{ max 1 5 3 }} {{ min 4 2 }} {{ biggest 1 2 }} {{ addf 1.5 2 }} {{ subf 5 1.5 }} {{ divf 7 2 }} {{ mulf 1.5 2 }} {{ add1f 1.5 }} {{ maxf 1 2.5 }} {{ minf 1 2.5 }}",
    "6 5 3 24 3 1 5 2 2 3.5 3.5 3.5 3 2.5 2.5 1",
  ],
  [
    '{{ floor 1.7 }} {{ ceil 1.2 }} {{ round 123.5555 3 }} {{ round 10.5 0 }} {{ round -10.5 0 }} {{ int "12" }} {{ int64 3.9 }} {{ float64 "1.5" }} {{ atoi "7" }} {{ toDecimal "0777" }} {{ int "abc" }} {{ int "1.9" }} {{ int "010" }} {{ int "0x1f" }} {{ float64 "x" }} {{ add .n 1 }} {{ add "3" 1 }} {{ int true }}',
    "1 2 123.556 11 -11 12 3 1.5 7 511 0 0 8 31 0 6 4 1",
  ],
  [
    "{{ divf 1 3 }} {{ divf 2 3 }} {{ divf -2 3 }} {{ addf 0.1 0.2 }} {{ mulf 1.1 1.1 }} {{ subf 1 0.9 }} {{ add1f 0.1 }} {{ divf 10 4 2 }} {{ mulf 123456.789 1000 }} {{ addf 1e22 1 }}",
    "0.3333333333333333 0.6666666666666667 -0.6666666666666667 0.3 1.21 0.1 1.1 1.25 1.23456789e+08 1e+22",
  ],
  ["{{ divf 1 0 }}", refused('executing "base" at <divf 1 0>: error calling divf: decimal division by 0')],
  ["{{ div 1 0 }}", refused('executing "base" at <div 1 0>: error calling div: runtime error: integer divide by zero')],
  [
    '{{ typeOf 1 }} {{ typeOf .n }} {{ typeOf .s }} {{ typeOf .list }} {{ typeOf .map }} {{ typeOf .missing }} {{ kindOf .list }} {{ kindOf .map }} {{ kindOf .n }} {{ kindIs "map" .map }} {{ typeIs "string" .s }} {{ typeIsLike "string" .s }} {{ deepEqual .list .list }} {{ kindOf .missing }}',
    "int float64 string []interface {} map[string]interface {} <nil> slice map float64 true true true true invalid",
  ],
  [
    '{{ b64enc "héllo" }} {{ b64dec "aMOpbGxv" }} {{ b32enc "hello" }} {{ b32dec "NBSWY3DP" }} {{ b64dec "!!" }} {{ sha1sum "a" }} {{ sha256sum "a" }} {{ adler32sum "abc" }} {{ sha512sum "a" }}',
    "aMOpbGxv héllo NBSWY3DP hello illegal base64 data at input byte 0 86f7e437faa5a7fce15d1ddcb9eaeaea377667b8 ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb 38600999 1f40fc92da241694750979ee6cf582f2d5d7d28e18335de05abc54d0560e0f5302860c652bf08d560252aa5e74210546f369fbbbce8c12cfc7957b2652fe9a75",
  ],
  [
    '{{ base "a/b/c.txt" }} {{ dir "a/b/c.txt" }} {{ clean "a/../b//c/." }} {{ ext "a/b.tar.gz" }} {{ isAbs "/a" }} {{ base "" }} {{ base "/" }} {{ dir "a" }} {{ osBase "/x/y" }}',
    "c.txt a/b b/c .gz true . / . y",
  ],
  [
    '{{ (semver "1.2.3-alpha.1+123").Major }} {{ (semver "v1.2").Patch }} {{ (semver "1.2.3-alpha.1+123").Prerelease }} {{ semver "v1.2.3" }} {{ semverCompare "^1.2.0" "1.3.4" }} {{ semverCompare ">=1.2, <2" "1.9.9" }} {{ semverCompare "~1.2" "1.3.0" }} {{ semverCompare "^1.2.0" "1.3.0-beta" }} {{ semverCompare ">=1.2.0-0" "1.3.0-beta" }} {{ semverCompare "1.2.x || >=3" "3.1.0" }} {{ semverCompare "!=1.2.3" "1.2.3" }} {{ semverCompare "1.2 - 1.4" "1.4.5" }}',
    "1 0 alpha.1 1.2.3 true true false false true true false true",
  ],
  [
    '{{ semverCompare ">=1.2-0" "1.3.0" }} {{ semverCompare ">1" "1.5" }} {{ semverCompare "<=1.2" "1.2.9" }}',
    "true false true",
  ],
  [
    "{{ range $i, $e := 3 }}x{{ end }}",
    refused('executing "base" at <3>: can\'t use 3 to iterate over more than one variable'),
  ],
  ['{{ (urlParse "a b/c").path }}', "a b/c"],
  ['{{ semver "abc" }}', refused('executing "base" at <semver "abc">: error calling semver: Invalid Semantic Version')],
  [
    '{{ urlParse "http://admin:secret@server.com:8080/api?list=false#anchor" }} {{ urlJoin (dict "fragment" "frag" "host" "host:80" "path" "/path" "query" "q=1" "scheme" "http") }} {{ (urlParse "https://a.b/c").host }}',
    "map[fragment:anchor host:server.com:8080 hostname:server.com opaque: path:/api query:list=false scheme:http userinfo:admin:secret] http://host:80/path?q=1#frag a.b",
  ],
  [
    '{{ date "2006-01-02" 0 }} {{ dateInZone "2006-01-02 15:04 MST" 86400 "UTC" }} {{ toDate "2006-01-02" "2017-12-31" | date "02/01/2006" }} {{ toDate "2006-01-02" "2017-12-31" }} {{ (toDate "2006-01-02" "2017-12-31").Year }} {{ toDate "2006-01-02" "2017-12-31" | unixEpoch }} {{ toDate "2006-01-02" "2017-12-31" | dateModify "-1.5h" | date "2006-01-02T15:04:05Z07:00" }} {{ htmlDate 0 }} {{ duration "95" }} {{ duration "3700" }} {{ durationRound "2h10m5s" }} {{ durationRound "2400h10m5s" }} {{ date "Monday, Jan _2 06 3:04PM" 0 }}',
    "1970-01-01 1970-01-02 00:00 UTC 31/12/2017 2017-12-31 00:00:00 +0000 UTC 2017 1514678400 2017-12-30T22:30:00Z 1970-01-01 1m35s 1h1m40s 2h 3mo Thursday, Jan  1 70 12:00AM",
  ],
  ['{{ dateInZone "2006-01-02 15:04:05 -0700" 1600000000 "Europe/Berlin" }}', "2020-09-13 14:26:40 +0200"],
  ['{{ fail "stop here" }}', refused('executing "base" at <fail "stop here">: error calling fail: stop here')],
  [
    '{{ abbrev 5 "hello world" }} {{ abbrevboth 5 10 "1234 5678 9123" }} {{ abbrev 3 "hello" }} {{ abbrevboth 1 8 "abcdefghijkl" }}',
    "he... ...5678... hello abcde...",
  ],
  ["{{ (index .objs 0).name }} {{ range .objs }}{{ .name }}:{{ .v }} {{ end }}", "x x:1 y:2 "],
  ['{{ .map.b.c | quote | squote }} {{ (list "a" "b" | join "," | splitList ",") | len }}', "'\"deep\"' 2"],
  ['{{ with $x := .s }}{{ $x }}{{ end }}{{ if and .s (eq .s "a-b") }}ok{{ end }}', "a-bok"],
  ['{{ printf "%v %v" (list 1 "a" nil) (dict "k" (list 1)) }}', "[1 a <nil>] map[k:[1]]"],
  ["{{ range $i, $e := until 3 }}{{ if $i }},{{ end }}{{ $e }}{{ end }}", "0,1,2"],
  ['{{ $s := "x" }}{{ range .list }}{{ $s = printf "%s%v" $s . }}{{ end }}{{ $s }}', "x123"],
  [
    "{{ ( .map ).a }} {{ (.map.b).c }} {{ .map.b.c.d }}",
    refused('executing "base" at <.map.b.c.d>: can\'t evaluate field d in type interface {}'),
  ],
  ['{{ "quoted \\"x\\"" | toJson }}{{- "\\n" -}} tail', '"quoted \\"x\\""\ntail'],
  ['{{ .s | upper | trunc 2 }}{{ 3 | add 4 }} {{ list | len }} {{ "a,b" | split "," }}', "A-7 0 map[_0:a _1:b]"],
  [
    "{{ mustToJson .map }} {{ mustFirst .list }} {{ mustHas 1.0 .list }} {{ mustUniq (list 1 1) }} {{ mustSlice .list 0 1 }} {{ mustAppend .list 1 }}",
    '{"a":1,"b":{"c":"deep"}} 1 true [1] [1] [1 2 3 1]',
  ],
  ["{{ if (eq 1 1) }}a{{ end }}{{ if and (or false true) (not false) }}b{{ end }}", "ab"],
  [
    "{{ -5 }} {{ +5 }} {{ 0x1F }} {{ 0b11 }} {{ 0o17 }} {{ 017 }} {{ 1_000 }} {{ 1e3 }} {{ 1.50 }} {{ .5 }}",
    "-5 5 31 3 15 15 1000 1000 1.5 0.5",
  ],
  ['{{ range $k, $v := dict "b" 1 "a" 2 }}{{ $k }}{{ $v }}{{ end }} {{ len (keys .map) }}', "a2b1 2"],
  ['{{ index (dict "a" (dict "b" 5)) "a" "b" }} {{ index .objs 1 "name" }}', "5 y"],
  [
    '{{ not (empty .list) }} {{ (len .list) | eq 3 }} {{ "" | default "none" | upper }} {{ .n | toString | trimSuffix "5" | quote }}',
    'true true NONE ""',
  ],
];

test.each(TABLE)("%s renders as in Go", (template, want) => {
  const how = { goTemplate: true };
  if (typeof want === "string") expect(render(template, params(), how)).toBe(want);
  else expect(() => render(template, params(), how)).toThrow(TemplateError);
});

test.each<[string, Want]>([
  ["{{ .missing }}", refused('executing "base" at <.missing>: map has no entry for key "missing"')],
  ["{{ .map.zz }}", refused('executing "base" at <.map.zz>: map has no entry for key "zz"')],
  ["{{ if .missing }}x{{ end }}", refused('executing "base" at <.missing>: map has no entry for key "missing"')],
  ["{{ .missing.deep }}", refused('executing "base" at <.missing.deep>: map has no entry for key "missing"')],
  ["{{ .s }}", "a-b"],
])("with missingkey=error, %s", (template, want) => {
  const how = { goTemplate: true, options: ["missingkey=error"] };
  if (typeof want === "string") expect(render(template, params(), how)).toBe(want);
  else expect(() => render(template, params(), how)).toThrow(TemplateError);
});

test("a failure says where it is and what is missing", () => {
  expect(() => render("{{.s}}-{{.nope}}", params(), { goTemplate: true, options: ["missingkey=error"] })).toThrow(
    'failed to execute go template {{.s}}-{{.nope}}: template: base:1:9: executing "base" at <.nope>: map has no entry for key "nope"',
  );
});

test.each<[string, string]>([
  ['{{ derivePassword 1 "long" "password" "user" "example.com" }}', "ZedaFaxcZaso9*"],
  ['{{ derivePassword 2 "long" "password" "user" "example.com" }}', "Fovi2@JifpTupx"],
  ['{{ derivePassword 1 "maximum" "password" "user" "example.com" }}', "pf4zS1LjCg&LjhsZ7T2~"],
  ['{{ derivePassword 1 "medium" "password" "user" "example.com" }}', "ZedJuz8$"],
  ['{{ derivePassword 1 "basic" "password" "user" "example.com" }}', "pIS54PLs"],
  ['{{ derivePassword 1 "pin" "password" "user" "example.com" }}', "6685"],
  ['{{ derivePassword 1 "none" "password" "user" "example.com" }}', "cannot find password template none"],
  ['{{ normalize "Feature/My_Branch." }}', "feature-my-branch"],
  ['{{ slugify "Feature/My_Branch v1.2" }}', "feature-my-branch-v1-2"],
  ['{{ slugify 10 true "one-two-three" }}', "one-two"],
  ['{{ slugify 10 "one-two-three" }}', "one-two"],
  [
    '{{ slugify "a-name-of-so-many-words-that-no-more-than-fifty-letters-fit" }}',
    "a-name-of-so-many-words-that-no-more-than-fifty",
  ],
  ['{{ slugify 8 false "fix!: one-two-three" }}', "fix-on"],
  ['{{ slugify 0 true "one-two" }}', "one-two"],
  ['{{ slugify 9 false "one-two-three" }}', "one-two-t"],
  ["{{ toYaml .map }}", "a: 1\nb:\n  c: deep"],
  ["{{ toYaml .objs }}", '- name: x\n  v: 1\n- name: "y"\n  v: 2'],
  ['{{ (fromYaml "a: {b: yes}").a.b }}', "true"],
  ['{{ index (fromYamlArray "[x, z]") 1 }}', "z"],
  ['{{ fromYaml "{a: 2024-01-01, b: 12:30, c: 0o17, d: 017}" }}', "map[a:2024-01-01 b:12:30 c:15 d:15]"],
  // Double quotes where a text would be something else, single ones where it could not be read.
  [
    `{{ toYaml (list "a: b" "# c" "" "yes" "0o7" "12:30" "2024-01-01" "it's" "it's: x" "a\\tb" "@x" "plain text") }}`,
    [
      "- 'a: b'",
      "- '# c'",
      '- ""',
      '- "yes"',
      '- "0o7"',
      '- "12:30"',
      '- "2024-01-01"',
      "- it's",
      "- 'it''s: x'",
      '- "a\\tb"',
      "- '@x'",
      "- plain text",
    ].join("\n"),
  ],
  ['{{ toYaml "a\\n\\nb\\n" }}', "|\n  a\n\n  b"],
  ['{{ toYaml (dict "k" "a\\nb" "l" "a \\nb") }}', 'k: |-\n  a\n  b\nl: "a \\nb"'],
  ['{{ camelcase "FirstName" }} {{ kebabcase "foo  bar" }} {{ title "qux\'s" }}', "FirstName foo--bar Qux'S"],
  ['{{ regexReplaceAll "a*" "baac" "x" }}', "xbxcx"],
  ['{{ printf "%[2]s %[1]s %[3]d" "a" "b" }}', "b a %!d(BADINDEX)"],
])("%s gives %s", (template, want) => {
  expect(render(template, params(), { goTemplate: true })).toBe(want);
});

test.each<[string, string]>([
  ["{{a.b}}-{{ c }}", "x-y"],
  ["{{nope}} {{ n }}", "{{nope}} {{ n }}"],
  ["{{}} {{ }}", "{{}} {{ }}"],
  ["{ {a.b} }", "{ {a.b} }"],
  ["{{a.b", "{{a.b"],
])("without Go's syntax %s gives %s", (template, want) => {
  const plain: ValueMap = new Map<string, string | number>([
    ["a.b", "x"],
    ["c", "y"],
    ["n", 5],
  ]);
  expect(render(template, plain, { goTemplate: false })).toBe(want);
});
