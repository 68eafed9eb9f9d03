/** Why git was refused by a remote, or did not reach it. */
export type GitRefusal =
  | "hostKey"
  | "certificate"
  | "sshKey"
  | "login"
  | "notFound"
  | "host"
  | "connection"
  | "notGit"
  | "revision";

// Git tells only in words; the first row that fits counts.
const WORDS: readonly (readonly [GitRefusal, RegExp])[] = [
  ["hostKey", /Host key verification failed/i],
  ["certificate", /certificate|SSL_|self.signed/i],
  ["sshKey", /Permission denied \(/i],
  [
    "login",
    /could not read (Username|Password)|Authentication failed|returned error: 40[13]|Invalid username or password/i,
  ],
  [
    "notFound",
    /Repository not found|returned error: 404|repository '[^']*' not found|does not appear to be a git repository|does not exist/i,
  ],
  ["host", /Could not resolve (host|hostname)|Name or service not known/i],
  ["connection", /Connection refused|Connection timed out|Failed to connect|Could not connect/i],
  [
    "notGit",
    /not valid: is this a git repository|not a git repository|expected (packfile|version|flush)|protocol error|bad line length|redirects to something else/i,
  ],
  ["revision", /not our ref|couldn't find remote ref|unadvertised object|no such remote ref/i],
];

/** Reads what git wrote to stderr; undefined where its words are not known. */
export function gitRefusal(stderr: string): GitRefusal | undefined {
  // Names and addresses stand in quotes: a repository may be called `certificates`.
  const said = stderr.replace(/'[^'\n]*'/g, "''");
  return WORDS.find(([, pattern]) => pattern.test(said))?.[0];
}
