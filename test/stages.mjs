/**
 * What `npm test` runs, in order. A stage that fails does not stop the others, except those that `needs` it.
 *
 *   minutes  after so long it is ended and counts as failed
 *   jest     paths of test files; its counts are added to the total
 *   run      a command; counts as one test
 *   long     also in `--long` (npm run prove), with PROVE=1 and so long
 *   figures  only in `--long` or when named; what it prints is shown
 */
const jest = (name, minutes, paths, more = {}) => ({ name, minutes, jest: paths, ...more });
const run = (name, minutes, command, more = {}) => ({ name, minutes, run: command, ...more });
const node = process.execPath;

export const stages = [
  run("lint", 2, ["npx", "biome", "ci", "--max-diagnostics=50", "--diagnostic-level=error", "."]),
  run("types", 4, ["npm", "run", "-s", "check"]),
  run("contract", 3, ["npx", "redocly", "lint", "--config", "openapi/redocly.yaml", "openapi/contract/openapi.json"]),
  run("generate", 4, [node, "test/generate.mjs"]),
  run("build", 3, ["npm", "run", "-s", "build"]),
  jest("house", 2, ["test/house.test.ts"]),
  jest("rooms", 6, ["openapi", "server/base", "server/kube", "server/link", "server/cli", "test/quickstart"]),
  jest("service", 20, ["server/control"]),
  // Real servers for what follows; nothing to do once they are in the cache.
  run("tools", 60, [node, "--import", "tsx", "test/cluster/main.ts", "servers"]),
  jest("delegate", 15, ["server/delegate"], { needs: ["build"] }),
  jest("servers", 5, ["test/servers"]),
  jest("engine", 12, ["server/agent"], { needs: ["build"] }),
  jest("provider", 10, ["provider"], { needs: ["build"] }),
  jest("modules", 10, ["modules"], { needs: ["build"] }),
  jest("node", 6, ["test/cluster"]),
  jest("install", 8, ["test/install"], { needs: ["build"], serial: true }),
  jest("journeys", 30, ["test/journeys"], { needs: ["build"], serial: true, long: 60, config: "test/journeys/jest.config.mjs" }),
  jest("faults", 30, ["test/faults"], { needs: ["build"], serial: true, long: 60 }),
  jest("abuse", 15, ["test/abuse"], { needs: ["build"], serial: true, long: 30 }),
  // Figures for GUARANTEES.md and the README: too noisy on a shared machine to pass or fail a change.
  run("scale-engine", 15, [node, "--import", "tsx", "test/scale/engine.ts"], { needs: ["build"], long: 15, figures: true }),
  run("scale-load", 15, [node, "--import", "tsx", "test/scale/engine-load.ts"], { needs: ["build"], long: 60, figures: true }),
  run("scale-provider", 30, [node, "--import", "tsx", "test/scale/provider.ts"], { needs: ["build"], long: 30, figures: true }),
  run("scale-redact", 10, [node, "--import", "tsx", "test/scale/redact.ts"], { long: 10, figures: true }),
  run("scale-tasks", 15, [node, "--import", "tsx", "test/scale/tasks.ts"], { needs: ["build"], long: 15, figures: true }),
  run("scale-system", 30, [node, "--import", "tsx", "test/scale/system.ts"], { needs: ["build"], long: 30, figures: true }),
  run("scale-webhook", 30, [node, "--import", "tsx", "test/scale/webhook.ts"], { needs: ["build"], long: 30, figures: true }),
];
