import { withKnownHosts } from "./known-hosts.ts";

const theirs = "github.com ssh-ed25519 AAAA\n";
const own = "# outpost.dev/repository u1\ngit.example.com ssh-rsa BBBB\n# outpost.dev/end\n";
const table: [string, { given: [string, string, string | undefined]; want: string }][] = [
  ["into an empty file", { given: ["", "u1", "git.example.com ssh-rsa BBBB"], want: own }],
  ["beside other lines", { given: [theirs, "u1", "git.example.com ssh-rsa BBBB\n"], want: theirs + own }],
  [
    "in place of its older lines",
    {
      given: [theirs + own, "u1", "other ssh-rsa CCCC"],
      want: theirs + own.replace("git.example.com ssh-rsa BBBB", "other ssh-rsa CCCC"),
    },
  ],
  ["out again", { given: [theirs + own, "u1", undefined], want: theirs }],
  ["out of a file that has nothing else", { given: [own, "u1", ""], want: "" }],
  [
    "beside another repository's",
    { given: [own, "u2", "a ssh-rsa D"], want: `${own}# outpost.dev/repository u2\na ssh-rsa D\n# outpost.dev/end\n` },
  ],
  [
    "without comments, which could end the section",
    { given: ["", "u1", "# outpost.dev/end\ngit.example.com ssh-rsa BBBB"], want: own },
  ],
];
test.each(table)("puts host keys %s", (_name, { given, want }) => {
  expect(withKnownHosts(...given)).toBe(want);
  expect(withKnownHosts(withKnownHosts(...given), given[1], given[2])).toBe(want);
});
