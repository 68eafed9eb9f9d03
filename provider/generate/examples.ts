import { fileURLToPath } from "node:url";
import { readNouns } from "../../openapi/generate/nouns.ts";
import { snake } from "../schema/names.ts";

/** Examples of resources that are not nouns. */
const others: Readonly<Record<string, string>> = {
  provider: `provider "outpost" {
  endpoint = "https://outpost.example.com"
}`,
  outpost_agent_token: `resource "outpost_agent" "example" {
  id = "production"
}

ephemeral "outpost_agent_token" "example" {
  agent = outpost_agent.example.id
  uid   = outpost_agent.example.uid
}`,
  outpost_delegate_token: `resource "outpost_delegate" "example" {
  id = "builders"
}

ephemeral "outpost_delegate_token" "example" {
  delegate   = outpost_delegate.example.id
  uid        = outpost_delegate.example.uid
  expires_in = "24h"
}`,
  outpost_webhook_secret: `resource "outpost_webhook" "example" {
  id   = "github"
  type = "github"
}

ephemeral "outpost_webhook_secret" "example" {
  webhook = outpost_webhook.example.id
  uid     = outpost_webhook.example.uid
}`,
  outpost_agent_install: `resource "outpost_agent" "example" {
  id = "production"
}

data "outpost_agent_install" "example" {
  agent = outpost_agent.example.id
  uid   = outpost_agent.example.uid
}

output "values" {
  value = data.outpost_agent_install.example.helm_values
}`,
  outpost_delegate_install: `resource "outpost_delegate" "example" {
  id = "builders"
}

data "outpost_delegate_install" "example" {
  delegate        = outpost_delegate.example.id
  uid             = outpost_delegate.example.uid
  format          = "kubernetes"
  existing_secret = "outpost-token"
  permissions     = "namespace-admin"
  replicas        = 2
}

output "manifest" {
  value = data.outpost_delegate_install.example.manifest
}`,
  outpost_applications: `data "outpost_applications" "broken" {
  org       = "team"
  inherited = true
  filter    = "health in (Degraded,Missing),labels.tier=web"
  sort      = "-updatedAt"
}

output "broken" {
  value = [for a in data.outpost_applications.broken.items : "\${join("/", compact([a.org, a.project, a.id]))}: \${a.health}"]
}`,
  outpost_task: `resource "outpost_task" "migrate" {
  kind      = "shell.run"
  selectors = ["builders"]
  params = jsonencode({
    script = "./migrate"
    # Put in by the delegate; neither Terraform nor the service ever has it.
    env    = { DATABASE_PASSWORD = "$\${secret:file/database}" }
    source = { git = { url = "https://git.example.com/team/app.git", revision = "v1.2.0" } }
  })
  triggers = { release = "v1.2.0" }
}`,
};

const spec = fileURLToPath(new URL("../../openapi/spec", import.meta.url));
/** Shown in the documentation; a test lets Terraform validate every one. Those of nouns are at the top of their files. */
export const examples: Readonly<Record<string, string>> = {
  ...others,
  ...Object.fromEntries(
    readNouns(spec).flatMap(({ name, example }) => (example ? [[`outpost${snake(name)}`, example.trimEnd()]] : [])),
  ),
};

/** Of a data source that lists and has no example of its own. */
export const listExample = (type: string): string =>
  `data "${type}" "example" {\n  inherited = true\n  filter    = "labels.team=shop"\n}\n\noutput "ids" {\n  value = data.${type}.example.ids\n}`;
