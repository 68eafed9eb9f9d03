export interface Download {
  url: string;
  sums: string;
  sha256?: string;
  programs: Record<string, string>;
}
export const downloads: Record<string, Download[]>;
export function placeOf(url: string, env?: NodeJS.ProcessEnv): string | undefined;
export function offered(names: string[], env?: NodeJS.ProcessEnv): Promise<string[]>;
