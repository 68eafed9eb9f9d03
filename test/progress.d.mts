export interface Step {
  note(now: string): void;
  done(why?: string): void;
  skip(why?: string): void;
  fail(why?: string): void;
}
type Paint = (text: string) => string;
export function elapsed(ms: number): string;
export function palette(
  stream?: NodeJS.WriteStream,
  env?: NodeJS.ProcessEnv,
): Record<"bold" | "dim" | "red" | "green" | "yellow" | "cyan", Paint>;
export function begin(title: string, stream?: NodeJS.WriteStream): Step;
