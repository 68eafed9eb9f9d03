declare const OUTPOST_VERSION: string | undefined;

/** The version of this build; the build puts it in. */
export const version: string = typeof OUTPOST_VERSION === "string" ? OUTPOST_VERSION : "0.0.0";
