// One configuration for every room. ESM throughout, so NODE_OPTIONS=--experimental-vm-modules is required (see the "unit" script).
export default {
  testEnvironment: "<rootDir>/test/patient.mjs",
  extensionsToTreatAsEsm: [".ts"],
  moduleFileExtensions: ["ts", "mjs", "js", "cjs", "json", "node"],
  transform: {
    "^.+\\.ts$": [
      "@swc/jest",
      {
        jsc: { target: "es2022", parser: { syntax: "typescript" }, experimental: { keepImportAttributes: true } },
        module: { type: "es6" },
      },
    ],
  },
  testMatch: ["**/*.test.ts"],
  testPathIgnorePatterns: [
    "/node_modules/",
    "/dist/",
    "/test/journeys/",
    "/test/faults/",
    "/test/abuse/",
    "/test/scale/",
  ],
  modulePathIgnorePatterns: ["/dist/"],
};
