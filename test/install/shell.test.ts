/** The installer for Linux, run for real: as root in a mount namespace with an /etc and an /opt of its own, and as the user `nobody` in a folder. */
import { createReadStream, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type Daemon, daemon, freePort, run, until } from "../servers/run.ts";
import { type InstallWorld, installWorld } from "./world.ts";

const asRoot = process.getuid?.() === 0 ? describe : describe.skip;

asRoot("the shell installer", () => {
  let w: InstallWorld;
  /** Holds the namespace open. */
  let holder: Daemon;
  const supervisors = new Set<number>();

  beforeAll(async () => {
    w = await installWorld();
    for (const folder of ["etc", "empty-log", "empty-opt", "empty-run"]) mkdirSync(join(w.dir, folder));
    await run("cp", ["-a", "/etc/.", join(w.dir, "etc")]);
    const mounts = [
      ["etc", "/etc"],
      ["empty-log", "/var/log"],
      ["empty-opt", "/opt"],
      ["empty-run", "/run"],
    ].map(([from, to]) => `mount --bind ${join(w.dir, from!)} ${to}`);
    holder = daemon("unshare", ["--mount", "sh", "-c", [...mounts, "echo held", "exec sleep 3600"].join(" && ")]);
    await until("the namespace", () => holder.said().includes("held"));
  }, 60_000);
  afterAll(async () => {
    for (const pid of supervisors) {
      try {
        process.kill(-pid, "SIGKILL");
      } catch {
        // It ended as it should.
      }
    }
    await holder?.stop("SIGKILL");
    await w?.stop();
  });

  /** Runs in the namespace, as seen there. */
  const inside = async (...args: string[]) =>
    (await run("nsenter", ["--mount", `--target=${holder.child.pid}`, "--", ...args], { deadlineMs: 240_000 })).stdout;
  const nobody = (home: string, ...args: string[]) => {
    const env = { PATH: process.env.PATH, HOME: home };
    return run("setpriv", ["--reuid=65534", "--regid=65534", "--clear-groups", "--", ...args], {
      env,
      deadlineMs: 240_000,
    });
  };
  const remember = (prefix: string) => supervisors.add(Number(readFileSync(join(prefix, "run/pid"), "utf8")));
  const accounts = () =>
    ["passwd", "group", "shadow", "gshadow"].map((file) => readFileSync(join(w.dir, "etc", file), "utf8"));
  const opt = () => join(w.dir, "empty-opt");

  test("as root: installs with a user of its own, connects, runs a task, upgrades, and leaves nothing", async () => {
    const before = accounts();
    const prefix = join(opt(), "outpost-delegate-metal");
    const initScript = 'printf "#!/bin/sh\\necho a tool\\n" > "$TOOLS/bin/greet"\nchmod +x "$TOOLS/bin/greet"';
    const script = await w.installer("metal", "shell", { initScript });
    const listen = `127.0.0.1:${await freePort()}`;
    const said = await inside("sh", script, "--from", w.archive, "--sha256", w.sha256, "--listen", listen);
    remember(prefix);
    expect(said).toMatch(/^Outpost \d[\s\S]*installed in \/opt\/outpost-delegate-metal and connected/);
    // Only its user reads the settings; the program is root's.
    const { mode, uid } = statSync(join(prefix, "etc/delegate.env"));
    expect([mode & 0o777, uid > 0, statSync(join(prefix, "app/outpost.mjs")).uid]).toEqual([0o600, true, 0]);
    expect(
      await w.shell("metal", 'id -u; greet; echo "${DELEGATE_TOKEN-none}"; grep NoNewPrivs /proc/self/status'),
    ).toBe(`${uid}\na tool\nnone\nNoNewPrivs:\t1\n`);

    // An upgrade: the same folder, another program and other settings, the token of before; its identity stays.
    const identity = readFileSync(join(prefix, "work/identity.json"), "utf8");
    const next = await w.installer("metal", "shell", { withToken: false, noProxy: "x" });
    expect(await inside("sh", next, "--from", w.archive, "--sha256", w.sha256)).toContain("and connected");
    remember(prefix);
    expect(readFileSync(join(prefix, "work/identity.json"), "utf8")).toBe(identity);
    expect(existsSync(join(prefix, "etc/init.sh"))).toBe(false);
    expect(await w.shell("metal", "echo again")).toBe("again\n");

    // What ends is started again.
    const [child] = (await run("pgrep", ["-f", "/opt/outpost-delegate-metal/app/outpost.mjs delegate"])).stdout
      .trim()
      .split("\n")
      .map(Number);
    process.kill(child!, "SIGKILL");
    const answers = () =>
      fetch(`http://${listen}/readyz`).then(
        (r) => r.ok,
        () => false,
      );
    await until("the old one is gone", async () => !(await answers()));
    await until("the new one is let in", answers, 30_000);
    expect(await w.shell("metal", "echo back")).toBe("back\n");

    expect(await inside("sh", next, "--uninstall")).toContain("is removed");
    expect([readdirSync(opt()), accounts()]).toEqual([[], before]);
    await expect(run("pgrep", ["-f", "outpost-delegate-metal"])).rejects.toThrow();
  }, 120_000);

  test("as root on a machine with systemd: a hardened unit that systemd finds no fault with", async () => {
    const script = await w.installer("unit", "shell");
    const calls = join(w.dir, "systemctl-calls");
    writeFileSync(calls, "");
    mkdirSync(join(w.dir, "bin"), { recursive: true });
    // No systemd runs here: what the installer asks of it is written down.
    writeFileSync(join(w.dir, "bin/systemctl"), `#!/bin/sh\necho "$@" >> ${calls}\n`, { mode: 0o755 });
    mkdirSync(join(w.dir, "empty-run/systemd/system"), { recursive: true });
    const installer = (...args: string[]) =>
      inside("env", `PATH=${w.dir}/bin:${process.env.PATH}`, "sh", script, ...args);
    await installer("--from", w.archive, "--no-start");
    const unit = "/etc/systemd/system/outpost-delegate-unit.service";
    expect(readFileSync(calls, "utf8")).toBe("daemon-reload\nenable outpost-delegate-unit.service\n");
    expect(readFileSync(join(w.dir, unit), "utf8")).toMatch(
      /^User=outpost-unit$[\s\S]*^NoNewPrivileges=yes$[\s\S]*^ProtectSystem=strict$/m,
    );
    if (existsSync("/usr/bin/systemd-analyze")) {
      await inside("systemd-analyze", "verify", unit);
      // Of ten, ten being the worst.
      await inside("systemd-analyze", "security", "--offline=yes", "--threshold=30", unit);
    }
    await installer("--uninstall");
    expect([readdirSync(opt()), existsSync(join(w.dir, unit))]).toEqual([[], false]);
    expect(readFileSync(calls, "utf8")).toMatch(
      /stop outpost-delegate-unit.service\ndisable outpost-delegate-unit.service\ndaemon-reload\n$/,
    );
  }, 60_000);

  test("as nobody: installs below the home, connects, runs a task, upgrades, and leaves nothing", async () => {
    const home = join(w.dir, "home");
    mkdirSync(home);
    await run("chown", ["65534:65534", home]);
    const prefix = join(home, ".local/share/outpost-delegate-plain");
    const script = await w.installer("plain", "shell", { withToken: false });
    const { data } = await w.service.api.POST("/v1/delegates/{id}/tokens", {
      params: { path: { id: "plain" } },
      body: {},
    });
    const token = join(w.dir, "token");
    writeFileSync(token, `${data!.token}\n`, { mode: 0o644 });
    const listen = `127.0.0.1:${await freePort()}`;
    const first = await nobody(home, "sh", script, "--from", w.archive, "--token-file", token, "--listen", listen);
    remember(prefix);
    expect(first.stdout).toContain("outpost-delegate-plain and connected");
    expect(statSync(join(prefix, "etc/delegate.env")).mode & 0o777).toBe(0o600);
    expect(await w.shell("plain", "id -u")).toBe("65534\n");
    // An upgrade over the network, checked by its digest; then other settings with the same program.
    const server = createServer((_, response) => createReadStream(w.archive).pipe(response)).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/outpost.tar.gz`;
      const upgraded = await nobody(home, "sh", script, "--from", url, "--sha256", w.sha256);
      remember(prefix);
      expect(upgraded.stdout).toMatch(/^Outpost \d[\s\S]*and connected/);
    } finally {
      server.close();
      server.closeAllConnections();
    }
    const again = await nobody(home, "sh", script);
    remember(prefix);
    expect(again.stdout).toContain("and connected");
    expect(await w.shell("plain", "echo again")).toBe("again\n");
    await nobody(home, "sh", script, "--uninstall");
    expect(readdirSync(join(home, ".local/share"))).toEqual([]);
    await expect(run("pgrep", ["-f", "outpost-delegate-plain"])).rejects.toThrow();
  }, 120_000);

  test("what cannot be right is refused before anything is changed", async () => {
    const script = await w.installer("never", "shell");
    const wrong = "0".repeat(64);
    for (const [args, message] of [
      [[], /--from is needed/],
      [["--from", w.archive, "--sha256", wrong], /digest of .* is [0-9a-f]{64}, not 0+: nothing of it was used/],
      [["--from", "http://127.0.0.1:1/x.tar.gz"], /--sha256 is needed with a URL/],
      [["--from", script], /is no .tar.gz/],
      [["--prefix", "relative"], /absolute path/],
      [["--from", w.archive, "--prefix", "/etc"], /has other files in it/],
      [["--uninstall", "--prefix", "/etc"], /no installation of outpost-delegate-never/],
      [["--from", w.archive, "--node", "/bin/true/x"], /version 20.19 or newer/],
      [["--what"], /no option --what/],
    ] as [string[], RegExp][]) {
      await expect(inside("sh", script, ...args)).rejects.toThrow(message);
    }
    expect(existsSync(join(opt(), "outpost-delegate-never/app"))).toBe(false);
  }, 60_000);
});
