import base from "../../jest.config.mjs";

/**
 * The journeys share one world, so they run one after the other; each leaves it as it found it. Those of the engine alone (`engine*`) need
 * no world: they bring up an API server each, and are a stage of their own.
 */
export default {
  ...base,
  rootDir: "../..",
  testPathIgnorePatterns: ["/node_modules/", "/dist/", "/journeys/engine"],
  testMatch: ["<rootDir>/test/journeys/*.test.ts"],
  globalSetup: "<rootDir>/test/journeys/setup.mjs",
  globalTeardown: "<rootDir>/test/journeys/teardown.mjs",
  testTimeout: 180_000,
};
