import base from "../../jest.config.mjs";

/** The journeys share one world, so they run one after the other; each leaves it as it found it. */
export default {
  ...base,
  rootDir: "../..",
  testPathIgnorePatterns: ["/node_modules/", "/dist/"],
  testMatch: ["<rootDir>/test/journeys/*.test.ts"],
  globalSetup: "<rootDir>/test/journeys/setup.mjs",
  globalTeardown: "<rootDir>/test/journeys/teardown.mjs",
  testTimeout: 180_000,
};
