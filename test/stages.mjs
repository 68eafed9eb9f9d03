import { readdirSync } from "node:fs";

/**
 * What `npm test` runs, in order. A stage that fails does not stop the others, except those that `needs` it.
 *
 *   minutes  after so long it is ended and counts as failed; it only ends what hangs
 *   jest     paths of test files; its counts are added to the total
 *   run      a command; counts as one test
 *   long     also in `--long` (npm run prove), with PROVE=1 and so long
 *   figures  only in `--long` or when named; what it prints is shown
 */
const jest = (name, minutes, paths, more = {}) => ({ name, minutes, jest: paths, ...more });
const run = (name, minutes, command, more = {}) => ({ name, minutes, run: command, ...more });
const node = process.execPath;
/** Journeys without a world, see journeys/jest.config.mjs. */
const engines = readdirSync(new URL("journeys", import.meta.url))
  .filter((file) => /^engine.*\.test\.ts$/.test(file))
  .map((file) => `test/journeys/${file}`);

export const stages = [
  run("lint", 4, ["npx", "biome", "ci", "--max-diagnostics=50", "--diagnostic-level=error", "."]),
  run("types", 10, ["npm", "run", "-s", "check"]),
  run("contract", 6, ["npx", "redocly", "lint", "--config", "openapi/redocly.yaml", "openapi/contract/openapi.json"]),
  run("generate", 8, [node, "test/generate.mjs"]),
  run("build", 8, ["npm", "run", "-s", "build"]),
  jest("house", 5, ["test/house.test.ts", "test/nouns.test.ts"]),
  jest("rooms", 15, ["openapi", "server/base", "server/kube", "server/link", "server/cli", "test/quickstart"]),
  jest("service", 30, ["server/control"]),
  // Real servers for what follows; nothing to do once they are in the cache.
  run("tools", 60, [node, "--import", "tsx", "test/cluster/main.ts", "servers"]),
  // On the releases of Node.js that have security fixes; the one that runs this may be older.
  run("versions", 12, [node, "--import", "tsx", "test/versions.ts"], { needs: ["build"], long: 60 }),
  jest("delegate", 30, ["server/delegate"], { needs: ["build"] }),
  jest("servers", 15, ["test/servers"]),
  jest("engine", 25, ["server/agent"], { needs: ["build"] }),
  jest("provider", 20, ["provider"], { needs: ["build"] }),
  jest("modules", 20, ["modules"], { needs: ["build"] }),
  jest("node", 12, ["test/cluster"]),
  jest("install", 16, ["test/install"], { needs: ["build"], serial: true }),
  jest("engines", 30, engines, { needs: ["build"], long: 60 }),
  jest("journeys", 40, ["test/journeys"], {
    needs: ["build"],
    serial: true,
    long: 60,
    config: "test/journeys/jest.config.mjs",
  }),
  jest("faults", 40, ["test/faults"], { needs: ["build"], long: 60 }),
  jest("abuse", 30, ["test/abuse"], { needs: ["build"], serial: true, long: 30 }),
  // Figures for GUARANTEES.md and the README: too noisy on a shared machine to pass or fail a change.
  run("scale-engine", 30, [node, "--import", "tsx", "test/scale/engine.ts"], {
    needs: ["build"],
    long: 30,
    figures: true,
  }),
  run("scale-load", 30, [node, "--import", "tsx", "test/scale/engine-load.ts"], {
    needs: ["build"],
    long: 60,
    figures: true,
  }),
  run("scale-adopt", 10, [node, "--import", "tsx", "test/scale/adopt.ts", "500"], {
    needs: ["build"],
    long: 10,
    figures: true,
  }),
  run("scale-strangers", 15, [node, "--import", "tsx", "test/scale/strangers.ts"], {
    needs: ["build"],
    long: 15,
    figures: true,
  }),
  run("scale-discovered", 15, [node, "--import", "tsx", "test/scale/discovered.ts", "2000"], {
    needs: ["build"],
    long: 15,
    figures: true,
  }),
  run("scale-discovered-cuts", 15, [node, "--import", "tsx", "test/scale/discovered.ts", "2000", "postgres", "cuts"], {
    needs: ["build"],
    long: 15,
    figures: true,
  }),
  run("scale-service", 30, [node, "--import", "tsx", "test/scale/service.ts"], {
    needs: ["build"],
    long: 30,
    figures: true,
  }),
  run("scale-provider", 30, [node, "--import", "tsx", "test/scale/provider.ts"], {
    needs: ["build"],
    long: 30,
    figures: true,
  }),
  run("scale-redact", 30, [node, "--import", "tsx", "test/scale/redact.ts"], { long: 30, figures: true }),
  run("scale-tasks", 30, [node, "--import", "tsx", "test/scale/tasks.ts"], {
    needs: ["build"],
    long: 30,
    figures: true,
  }),
  run("scale-system", 30, [node, "--import", "tsx", "test/scale/system.ts"], {
    needs: ["build"],
    long: 30,
    figures: true,
  }),
  run("scale-churn", 30, [node, "--import", "tsx", "test/scale/churn.ts"], {
    needs: ["build"],
    long: 60,
    figures: true,
  }),
  run("scale-webhook", 30, [node, "--import", "tsx", "test/scale/webhook.ts"], {
    needs: ["build"],
    long: 30,
    figures: true,
  }),
];
