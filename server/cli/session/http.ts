// In a file of its own so that it is loaded on first use: a bundler turns `import()` of this, not of the package, into named exports.
export { EnvHttpProxyAgent, fetch } from "undici";
