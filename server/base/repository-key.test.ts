import { within } from "../../test/within.ts";
import { parentKey, repositoryKey, sameRepository } from "./repository-key.ts";

test.each([
  [
    "github.com/o/r",
    [
      "https://github.com/o/r.git",
      "https://GitHub.com/O/R",
      "https://github.com:443/o/r/",
      "http://github.com:80/o/r",
      "https://user:x@github.com/o/r.git",
      "ssh://git@github.com/o/r.git",
      "ssh://git@github.com:22/o/r",
      "ssh://git@ssh.github.com:443/o/r.git",
      "git@github.com:o/r.git",
      "git@github.com:/o/r",
      "github.com:o/r.git",
      "git://github.com/o/r.git",
    ],
  ],
  [
    "gitlab.com/group/sub/name",
    ["https://gitlab.com/group/sub/name.git", "ssh://git@gitlab.com:2222/group/sub/name.git"],
  ],
  ["git.example:3000/o/r", ["http://git.example:3000/o/r.git", "https://git.example:3000/o/r"]],
  [
    "bitbucket.example/proj/r",
    [
      "https://bitbucket.example/scm/PROJ/r.git",
      "https://bitbucket.example/context/scm/proj/r.git",
      "ssh://git@bitbucket.example:7999/proj/r.git",
      "https://bitbucket.example/projects/PROJ/repos/r/browse",
    ],
  ],
  [
    "bitbucket.example/~john/r",
    ["https://bitbucket.example/scm/~john/r.git", "https://bitbucket.example/users/john/repos/r/browse"],
  ],
  [
    "dev.azure.com/org/project/repo",
    [
      "https://dev.azure.com/org/project/_git/repo",
      "https://org@dev.azure.com/org/Project/_git/repo",
      "git@ssh.dev.azure.com:v3/org/project/repo",
      "https://org.visualstudio.com/project/_git/repo",
      "https://org.visualstudio.com/DefaultCollection/project/_git/repo",
      "org@vs-ssh.visualstudio.com:v3/org/project/repo",
    ],
  ],
  ["dev.azure.com/org/one/one", ["https://dev.azure.com/org/_git/one", "https://dev.azure.com/org/one/_git/one"]],
  [
    "docker.io/team/app",
    ["oci://registry-1.docker.io/team/app", "docker.io/team/app", "oci://index.docker.io/team/app"],
  ],
  ["ghcr.io/user/guestbook", ["oci://ghcr.io/user/guestbook", "ghcr.io/user/guestbook"]],
  ["localhost:5000/a/b", ["oci://localhost:5000/a/b", "localhost:5000/a/b"]],
])("%s has one name", (key, addresses) => {
  expect(addresses.map(repositoryKey)).toEqual(addresses.map(() => key));
});

test.each([
  "",
  " ",
  "a",
  "a b",
  "https://",
  "https://h",
  "https://h/",
  "ftp://h/x",
  "file:///etc/passwd",
  "-x/y",
  "a/b",
  "h/x\n",
  "\0",
  "@",
  ":",
  "/",
  "://",
  "https://[::1/x",
])("%j is not an address", (text) => expect(repositoryKey(text)).toBeUndefined());

test.each([
  ["https://github.com/acme/shop", "https://github.com/acme/shop2"],
  ["https://github.com/acme/shop", "https://gitlab.com/acme/shop"],
  ["https://github.com/acme/shop", "https://github.com/acme"],
  ["https://github.com:8443/acme/shop", "https://github.com/acme/shop"],
])("%s is not %s", (a, b) => expect(sameRepository(a, b)).toBe(false));

test("an address without end is none", () => expect(repositoryKey(`https://h/${"x".repeat(3_000)}`)).toBeUndefined());

test("a long run of slashes costs nothing", () => {
  const began = performance.now();
  for (let i = 0; i < 200; i++) repositoryKey(`https://h/a${"/".repeat(2_000)}b`);
  expect(performance.now() - began).toBeLessThan(within(500));
});

test("the parent of a chart is its registry's folder, never the registry alone", () => {
  expect([parentKey("ghcr.io/user/charts/web"), parentKey("ghcr.io/user"), parentKey("x")]).toEqual([
    "ghcr.io/user/charts",
    undefined,
    undefined,
  ]);
});
