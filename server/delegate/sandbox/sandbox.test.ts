import { jest } from "@jest/globals";
import { run } from "../../base/process/run.ts";
import { type Hostile, WAYS_HERE as here, hostile, publicFolder, ROOT } from "../testing/jail.ts";
import { handed } from "./handed.ts";

/** Hostile scripts for real, in every way that this system has: as root, and as a user without a name. */
jest.setTimeout(150_000);
const dir = publicFolder();

const ATTACK = `
echo "I am $(id -u), in $(pwd)"
for file in "$IDENTITY" "$OTHER" /proc/$DELEGATE/environ /etc/shadow; do
  if content=$(cat "$file" 2>/dev/null | tr '\\0' ' ') && [ -n "$content" ]; then case $content in *"the identity"*|*"another task"*|*ot1_the_token*|*root:*) echo "STOLEN $file";; esac; fi
done
for pid in $(ls /proc | grep '^[0-9]'); do grep -aq ot1_the_token /proc/$pid/environ 2>/dev/null && echo "STOLEN environ of $pid"; done
find / -xdev -name identity.json -path '*/sandbox-*' -exec grep -l "the identity" {} + 2>/dev/null | sed 's/^/STOLEN /'
ln -s "$IDENTITY" link; cat link 2>/dev/null | grep -q "the identity" && echo "STOLEN by link"
umount -l "$(dirname "$IDENTITY")" 2>/dev/null && echo "UNCOVERED"
unshare -Urm sh -c "umount -l '$(dirname "$IDENTITY")'; cat '$IDENTITY'" 2>/dev/null | grep -q "the identity" && echo "STOLEN in a namespace"
grep -q '^NoNewPrivs:.*1' /proc/self/status || echo "PRIVILEGES"
grep -q '^CapEff:.*0000000000000000' /proc/self/status || echo "CAPABLE"
echo mine > file && cat file
exit 7`;

// What root of a namespace of users may do beyond that.
const AS_BUILDER = `
grep '^ *0 ' /proc/self/uid_map | tr -s ' ' | sed 's/^/map/'
chown 7:9 . && echo "chowned" && chown 0:0 .
for pid in $(ls /proc | grep '^[0-9]'); do
  who=$(sed -n 's/^Uid:[[:space:]]*\\([0-9]*\\).*/\\1/p' /proc/$pid/status 2>/dev/null)
  [ "$who" = 65534 ] && readlink /proc/$pid/cwd >/dev/null 2>&1 && echo "HOLD of $pid, a process of root outside"
  [ "$who" = 65534 ] && kill -0 $pid 2>/dev/null && echo "KILLS $pid, a process of root outside"
done
(echo x > "$IDENTITY") 2>/dev/null; mount --bind / /mnt 2>/dev/null && echo "MOUNTED"
(echo x >> /etc/hosts) 2>/dev/null && echo "WROTE"
setpriv --reuid 5 --regid 5 --clear-groups id -u
`;
const builder = ROOT && here.includes("uid+pid+mount") ? test : test.skip;

builder(
  "a builder of images is root over users that nobody else has, and over nothing more (skipped without root)",
  async () => {
    const got = await hostile(dir, "uid+pid+mount", AS_BUILDER + ATTACK, { HOSTILE_USERS: "true" });
    expect(got.lines[0]).toMatch(/^map 0 60\d{3} 1$/);
    // It is capable within its namespace, that is the point.
    expect(got.lines.filter((line) => /^[A-Z]{4}/.test(line) && line !== "CAPABLE")).toEqual([]);
    expect(got.lines).toEqual(expect.arrayContaining(["chowned", "5", "mine"]));
    expect([got.code, got.left, got.kept]).toEqual([7, 0, true]);
  },
);

test.each(here)(
  "%s: neither identity, token, other tasks nor the delegate can be reached, and work goes on",
  async (way) => {
    const got = await hostile(dir, way, ATTACK);
    expect([got.level, got.warned.filter((text) => text.includes("can read what it can"))]).toEqual([way, []]);
    expect(got.lines.filter((line) => /^[A-Z]{4}/.test(line))).toEqual([]);
    expect(got.lines.at(-1)).toBe("mine");
    expect(got.lines[0]).toMatch(way.startsWith("uid") ? /^I am 60\d{3}, in .*\/work$/ : /^I am \d+, in .*\/work$/);
    expect([got.code, got.left, got.kept]).toEqual([7, 0, true]);
  },
);

test.each(here)(
  "%s: a fork bomb stays within its bound, the delegate starts other processes meanwhile, and nothing of it is left",
  async (way) => {
    const got = await hostile(
      dir,
      way,
      "bomb() { bomb | bomb & }; bomb 2>/dev/null; sleep 1; echo still here 2>/dev/null; exit 0",
    );
    expect([got.left, got.kept]).toEqual([0, true]);
    expect(got.findings.find(({ name }) => name === "processes")?.on).toBe(true);
  },
);

test.each(here)("%s: the delegate cannot be ended by a task", async (way) => {
  const got = await hostile(dir, way, "kill -9 $DELEGATE 2>/dev/null && [ -d /proc/$DELEGATE ] || true; echo ended");
  expect([got.lines.at(-1), got.findings.find(({ name }) => name === "signals")?.on]).toEqual(["ended", true]);
});

test.each(["auto-root", "auto-user"].filter((name) => ROOT || name === "auto-user"))(
  "%s: the strongest way is taken",
  async (who) => {
    const got = await hostile(dir, who, "true");
    expect(got.level).toBe(here.find((way) => way.startsWith("uid") === (who === "auto-root")));
  },
);

test("the keys in the home of the delegate's user are closed to its tasks", async () => {
  for (const way of here.filter((name) => !name.startsWith("uid"))) {
    const got = await hostile(
      dir,
      way,
      'cat "$(dirname "$(dirname "$IDENTITY")")/home/key" 2>/dev/null || echo closed',
    );
    expect([way, got.lines]).toEqual([way, ["closed"]]);
  }
});

test("a task's environment is not that of what runs before it, as root, and stands in no command line", () => {
  const { env, prefix } = handed({
    LD_PRELOAD: "/w/evil.so",
    PERL5OPT: "-Mevil",
    TOKEN: "secret",
    "A-B": "x",
    UID: "0",
    PATH: "/w",
  });
  expect(Object.keys(env).filter((name) => !name.startsWith("OUTPOST_HANDED_"))).toEqual(["PATH"]);
  expect([env.PATH, prefix.join(" ")]).toEqual([
    "/usr/sbin:/usr/bin:/sbin:/bin",
    expect.not.stringMatching(/secret|evil|A-B|UID/),
  ]);
});

(ROOT ? test : test.skip)("the cloud's metadata address is closed to tasks and open to the delegate", async () => {
  // Two network namespaces and a wire between them, in one script: the address is a real one with a real server behind it.
  const inner = `
set -e
ip link set lo up
unshare -n sleep 60 & far=$!
until [ "$(readlink /proc/$far/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do :; done
ip link add near type veth peer name far netns $far
ip addr add 169.254.1.1/16 dev near; ip link set near up
nsenter -t $far -n sh -c 'ip link set lo up; ip addr add 169.254.169.254/16 dev far; ip link set far up'
nsenter -t $far -n ${process.execPath} -e 'require("http").createServer((q, a) => a.end("credentials\\n")).listen(80, "169.254.169.254", () => console.log("up"))' > ${dir}/up & server=$!
until [ -s ${dir}/up ]; do :; done
curl -sS -m 5 http://169.254.169.254/ | sed 's/^/delegate: /'
OUTPOST_ALLOW_METADATA= ${process.execPath} --import tsx ${new URL("../testing/hostile.ts", import.meta.url).pathname} ${dir}/meta auto 'curl -sS -m 5 http://169.254.169.254/ 2>&1 | sed "s/^/task: /"'
HOSTILE_USERS=true OUTPOST_ALLOW_METADATA= ${process.execPath} --import tsx ${new URL("../testing/hostile.ts", import.meta.url).pathname} ${dir}/meta auto 'setpriv --reuid 5 --regid 5 --clear-groups curl -sS -m 5 http://169.254.169.254/ 2>&1 | sed "s/^/task: /"'
kill $server $far`;
  const ran = await run("unshare", {
    args: ["-n", "--mount", "sh", "-c", inner],
    cwd: process.cwd(),
    env: { PATH: process.env.PATH!, HOME: "/root" },
    deadlineMs: 50_000,
    maxBytes: 1_000_000,
  });
  if (ran.kind !== "done") throw new Error(ran.message);
  const out = ran.value.stdout.toString();
  expect(out).toContain("delegate: credentials");
  // A task, and a step of a build that has made itself another user.
  for (const line of out.trim().split("\n").slice(-2)) {
    const got: Hostile = JSON.parse(line);
    expect(got.findings.find(({ name }) => name === "metadata")).toMatchObject({ on: true });
    expect(got.lines.join()).toMatch(/task: curl: .*(Permission denied|Couldn't connect)/);
  }
});
