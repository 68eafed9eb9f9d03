/** What `flood.mjs` can send. */
export const SORTS = [
  "half-sent",
  "half-sent with a forged key",
  "forged keys",
  "no key",
  "unfinished heads",
  "unfinished chunks",
  "half-sent enrolments",
  "enrolments with unknown tokens",
  "enrolments with a known token and a forged proof",
  "sessions of unknown workers",
  "greetings",
  "half-sent calls of made-up webhooks",
  "half-sent calls of a webhook",
] as const;
