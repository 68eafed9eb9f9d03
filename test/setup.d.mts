export function packagesInstalled(root: string): boolean;
export function installPackages(root: string, log: string): Promise<boolean>;
export function runLogged(
  root: string,
  command: string[],
  log: string,
  minutes: number,
  env?: NodeJS.ProcessEnv,
): Promise<void>;
