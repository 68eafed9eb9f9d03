/** `repoUrl` → `repo_url`, `keyID` → `key_id`. */
export const snake = (name: string): string => name.replace(/[A-Z]+(?![a-z])|[A-Z]/g, (c) => `_${c.toLowerCase()}`);
/** `repo_url` → `repoUrl`. */
export const camel = (name: string): string => name.replace(/_([a-z0-9])/g, (_, c: string) => c.toUpperCase());
