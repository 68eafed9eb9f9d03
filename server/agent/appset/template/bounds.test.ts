import { render } from "./render.ts";

const params = () => new Map();

test.each<[string, RegExp]>([
  ["{{ range until 9999 }}{{ range until 9999 }}x{{ end }}{{ end }}", /more than (200000 steps|1 s)/],
  ['{{ repeat 1048577 "x" }}', /more than 1 MiB/],
  ['{{ $x := repeat 1000000 "x" }}{{ $x }}{{ $x }}', /writes more than 1 MiB/],
  ['{{ define "r" }}{{ template "r" . }}{{ end }}{{ template "r" . }}', /maximum template depth/],
  ["{{ until 1000000 }}", /more than 10000 numbers/],
  [
    '{{ regexMatch "^(a+)+$" "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!" }}{{ mustRegexMatch "^(a+)+$" "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!" }}',
    /takes too long/,
  ],
  ["{{ " + "(".repeat(500) + "1" + ")".repeat(500) + " }}", /nested too deeply/],
  ['{{ printf "%99999999d" 1 }}', /width of more than/],
  ['{{ derivePassword 1 "pin" "p" "u" "s" }}'.repeat(6), /more than (200000 steps|1 s)/],
  ['{{ genPrivateKey "rsa" }}', /genPrivateKey makes something else each time/],
  ['{{ (genCA "x" 1).Cert }}', /genCA makes something else each time/],
  ['{{ bcrypt "x" }}', /bcrypt makes something else each time/],
  ['{{ htpasswd "u" "p" }}', /htpasswd makes something else each time/],
  ['{{ buildCustomCert "!" "x" }}', /unable to decode base64 certificate/],
  ['{{ env "HOME" }}', /function "env" not defined/],
  ['{{ expandenv "$HOME" }}', /not defined/],
  ['{{ getHostByName "localhost" }}', /not defined/],
])("%s is ended: %s", (template, why) => {
  expect(() => render(template, params(), { goTemplate: true })).toThrow(why);
});

test.each<[string, string, RegExp]>([
  ["a number without end", '{{ fromYaml "a: .inf" }}', /has no place in JSON/],
  ["keys that are maps with such keys", `{{ fromYaml "${"? ".repeat(150)}" }}`, /a map or a list is not a key/],
  ["a product of thousands of numbers", `{{ mulf ${"9e300 ".repeat(20_000)}}}`, /more than 100 numbers/],
  ["a quotient of thousands of numbers", `{{ divf ${"9e-300 ".repeat(20_000)}}}`, /more than 100 numbers/],
])("%s do not hold up whoever renders", (_, template, why) => {
  expect(() => render(template, params(), { goTemplate: true })).toThrow(why);
});
