export const address: string;
export const platforms: readonly string[];
export function buildProvider(options: {
  version: string;
  out?: string;
  mirror?: string;
}): Promise<{ bytes: number; program: string }>;
export function layMirror(options: { from: string; to: string; version: string }): Promise<void>;
