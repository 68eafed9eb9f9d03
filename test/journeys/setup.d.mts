export const worldEnv: Record<string, string>;
export default function setup(): Promise<void>;
export function teardown(): Promise<void>;
