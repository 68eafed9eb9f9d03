export interface Lack {
  missing: string;
  whatToDo: string;
}
export function checkNodeVersion(version?: string): Lack[];
export function atLeast(text: string, least: readonly number[]): boolean;
export function missingTools(root: string, only?: string[]): string[];
export function taken(port: number): Promise<boolean>;
