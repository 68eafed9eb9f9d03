import type { ServerResponse } from "node:http";

const STYLE =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:42rem;margin:4rem auto;padding:0 1rem;color:#1b1f24;background:#fff}code,pre{font:14px/1.5 ui-monospace,monospace;background:#f3f4f6;border-radius:6px}code{padding:.1em .3em}pre{padding:1rem;overflow:auto}";

/** The page a browser finds: what this is and how to sign in. Text only, no script, nothing from elsewhere. */
export function sendPage(res: ServerResponse, origin: string): void {
  const address = origin.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Outpost</title><meta name="viewport" content="width=device-width"><style>${STYLE}</style></head>
<body><h1>Outpost</h1>
<p>This is a GitOps service: it manages agents, delegates, repositories, clusters and applications as code.</p>
<h2>Sign in</h2>
<pre>outpost login ${address}</pre>
<p>It asks for an API key. The first start of the service wrote one for the administrator to <code>admin-key</code> in its data folder.</p>
<h2>With Terraform</h2>
<pre>provider "outpost" {
  endpoint = "${address}"   # or OUTPOST_ENDPOINT
}                           # the key: OUTPOST_API_KEY</pre>
<p>State of the service: <a href="/healthz">health</a>, <a href="/readyz">readiness</a>, <a href="/metrics">metrics</a>. The API: <a href="/openapi.json">OpenAPI document</a>.</p>
</body></html>
`;
  res.writeHead(200, {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy":
      "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
  });
  res.end(html);
}
