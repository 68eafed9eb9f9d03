import base from "../jest.config.mjs";

/** As for rooms, but with the long tests, which `npm run unit` leaves out unless asked for. */
export default { ...base, rootDir: "..", testPathIgnorePatterns: ["/node_modules/", "/dist/", "/.quickstart/"] };
