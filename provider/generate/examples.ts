/** Shown in the documentation; a test lets Terraform validate every one. */
export const examples: Record<string, string> = {
  provider: `provider "outpost" {
  endpoint = "https://outpost.example.com"
}`,
  outpost_agent: `resource "outpost_agent" "example" {
  id   = "production"
  name = "Production cluster"
  tags = ["eu"]
}`,
  outpost_agent_token: `resource "outpost_agent" "example" {
  id = "production"
}

ephemeral "outpost_agent_token" "example" {
  agent = outpost_agent.example.id
  uid   = outpost_agent.example.uid
}`,
  outpost_app_project: `resource "outpost_app_project" "shop" {
  id           = "shop"
  agent        = "production"
  description  = "What the shop's team may deploy"
  source_repos = ["https://git.example.com/shop/*"]
  destinations = [{ name = "in-cluster", namespace = "shop-*" }]
  # Cluster-scoped kinds are permitted by name only; namespaced ones unless a list says otherwise.
  cluster_resource_whitelist   = [{ kind = "Namespace", name = "shop-*" }]
  namespace_resource_blacklist = [{ kind = "ResourceQuota" }]
  sync_windows = [
    { kind = "deny", schedule = "0 16 * * 5", duration = "64h", time_zone = "Europe/Berlin", applications = ["*"], manual_sync = true },
  ]
  source_integrity = {
    git = { policies = [{ repos = [{ url = "https://git.example.com/shop/*" }], gpg = { mode = "head", keys = ["4AEE18F83AFDEB23"] } }] }
  }
}

resource "outpost_application" "web" {
  id          = "web"
  agent       = "production"
  app_project = outpost_app_project.shop.id
  source      = { repo_url = "https://git.example.com/shop/web.git", path = "deploy" }
  destination = { namespace = "shop-web" }
}`,
  outpost_argo_project_mapping: `resource "outpost_argo_project_mapping" "shop" {
  id           = "shop"
  agent        = "production"
  argo_project = "shop-*"
  target_org   = "shop"
}`,
  outpost_application: `resource "outpost_application" "example" {
  id    = "guestbook"
  agent = "production"

  source = {
    repo_url        = "https://git.example.com/team/apps.git"
    path            = "guestbook"
    target_revision = "main"
    helm            = { values_object = jsonencode({ replicas = 2 }) }
  }
  destination = { namespace = "guestbook" }
  sync_policy = {
    automated    = { prune = true, self_heal = true }
    sync_options = ["CreateNamespace=true"]
  }
  timeouts = { create = "15m" }
}`,
  outpost_application_set: `resource "outpost_application_set" "example" {
  id    = "guestbooks"
  agent = "production"
  # Each generator is the JSON of one entry of \`spec.generators\` of an Argo CD ApplicationSet. This one gives a folder each.
  generators = [jsonencode({
    git = {
      repoURL     = "https://git.example.com/team/apps.git"
      revision    = "main"
      directories = [{ path = "apps/*" }]
    }
  })]
  go_template_options = ["missingkey=error"]
  template = jsonencode({
    metadata = { name = "{{ .path.basename }}" }
    spec = {
      project     = "default"
      source      = { repoURL = "https://git.example.com/team/apps.git", targetRevision = "main", path = "{{ .path.path }}" }
      destination = { name = "in-cluster", namespace = "{{ .path.basename }}" }
      syncPolicy  = { automated = { prune = true, selfHeal = true }, syncOptions = ["CreateNamespace=true"] }
    }
  })
  timeouts = { create = "15m" }
}`,
  outpost_cluster: `variable "token" {
  type      = string
  ephemeral = true
}

resource "outpost_cluster" "example" {
  id                  = "edge"
  agent               = "production"
  server              = "https://edge.example.com:6443"
  credentials         = { bearer_token = var.token }
  credentials_version = "1"
}`,
  outpost_delegate: `resource "outpost_delegate" "example" {
  id       = "builders"
  tags     = ["linux"]
  capacity = 4
}`,
  outpost_delegate_token: `resource "outpost_delegate" "example" {
  id = "builders"
}

ephemeral "outpost_delegate_token" "example" {
  delegate   = outpost_delegate.example.id
  uid        = outpost_delegate.example.uid
  expires_in = "24h"
}`,
  outpost_gnupg_key: `resource "outpost_gnupg_key" "release" {
  id         = "release"
  agent      = "production"
  public_key = file("release.asc")
}

output "fingerprint" {
  value = outpost_gnupg_key.release.status.fingerprint
}`,
  outpost_organization: `resource "outpost_organization" "example" {
  id   = "team"
  name = "The team"
}`,
  outpost_pipeline: `resource "outpost_pipeline" "release" {
  id = "release"
  inputs = {
    tag = { pattern = "v[0-9.]+" }
  }
  # A step follows the one before it, unless \`needs\` says otherwise. Terraform writes an expression of the pipeline with two signs.
  steps = [
    {
      id = "build"
      task = {
        kind      = "image.build"
        selectors = ["builders"]
        params = jsonencode({
          source     = { git = { url = "https://git.example.com/team/app.git", revision = "$\${inputs.tag}" } }
          tags       = ["registry.example.com/team/app:$\${inputs.tag}"]
          registries = [{ registry = "registry.example.com", username = "robot", password = "$\${secret:file/registry}" }]
        })
      }
    },
    {
      id       = "approve"
      approval = { message = "Ship $\${steps.build.outputs.digest}?", exclude_requester = true }
    },
    {
      id = "deploy"
      task = {
        kind = "helm.upgrade"
        params = jsonencode({
          release = "web"
          chart   = { oci = "oci://registry.example.com/charts/web" }
          set     = { "image.digest" = "$\${steps.build.outputs.digest}" }
        })
      }
    },
    {
      id   = "tell"
      when = "always"
      task = {
        kind   = "http.request"
        params = jsonencode({ url = "https://chat.example.com/hook", method = "POST", body = "release: $\${steps.deploy.state}" })
      }
    },
  ]
}`,
  outpost_project: `resource "outpost_project" "example" {
  id  = "shop"
  org = "team"
}`,
  outpost_repository: `variable "password" {
  type      = string
  ephemeral = true
}

resource "outpost_repository" "example" {
  id                  = "apps"
  agent               = "production"
  url                 = "https://git.example.com/team/apps.git"
  username            = "robot"
  credentials         = { password = var.password }
  credentials_version = "1"
}`,
  outpost_repository_certificate: `resource "outpost_repository_certificate" "authority" {
  id    = "git-authority"
  agent = "production"
  host  = "git.example.com"
  type  = "https"
  data  = file("authority.pem")
}

resource "outpost_repository_certificate" "host" {
  id    = "git-host"
  agent = "production"
  host  = "[git.example.com]:2222"
  type  = "ssh"
  # As \`ssh-keyscan -p 2222 git.example.com\` prints them, without the host in front.
  data = <<-KEYS
    ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJm7M1TgnPJ5pjJSnQ3nyB4VoSqLBr8p9mYXlnMRVkbG
  KEYS
}`,
  outpost_repository_credential: `variable "app_key" {
  type      = string
  ephemeral = true
}

# For every repository below this address that has no credentials of its own.
resource "outpost_repository_credential" "example" {
  id                  = "github"
  agent               = "production"
  url                 = "https://github.com/team/"
  github_app          = { id = 1234, installation_id = 5678 }
  credentials         = { github_app_private_key = var.app_key }
  credentials_version = "1"
}`,
  outpost_webhook: `resource "outpost_webhook" "example" {
  id   = "github"
  type = "github"
  # Raise it to rotate the secret, and enter address and secret at the host in the same apply.
  secret_version = 1
}

output "address" {
  value = outpost_webhook.example.status.url
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
