# Takes OUTPOST_ENDPOINT and OUTPOST_API_KEY, or the sign-in of `outpost login`.
provider "outpost" {}

locals {
  team = "shop"
  # `https://git.example.com/shop/` and `git.example.com`.
  git = regex("^(?P<folder>https?://(?P<host>[^/:]+).*/)[^/]+$", var.repository_url)
}

# What the team's applications may do. What is not named is not permitted.
resource "outpost_app_project" "team" {
  id           = local.team
  agent        = var.agent
  description  = "What the team ${local.team} may deploy"
  source_repos = [var.repository_url]

  # Scopes below the agent's that may use it too, as `["acme", "acme/shop"]`.
  allowed_scopes = []

  destinations = [{ name = "in-cluster", namespace = "${local.team}-*" }]

  cluster_resource_whitelist   = [{ kind = "Namespace", name = "${local.team}-*" }]
  namespace_resource_blacklist = [{ kind = "ResourceQuota" }, { group = "rbac.authorization.k8s.io", kind = "*" }]
}

# How the agent recognises the Git host, where that needs saying.
resource "outpost_repository_certificate" "git" {
  count = var.git_authority == "" ? 0 : 1

  id    = "git-host"
  agent = var.agent
  host  = local.git.host
  type  = "https"
  data  = var.git_authority
}

# One password for all of the team's repositories below this address, and for this project alone.
resource "outpost_repository_credential" "team" {
  id          = local.team
  agent       = var.agent
  url         = local.git.folder
  username    = var.repository_username
  app_project = outpost_app_project.team.id

  credentials = {
    password = var.repository_password
  }
  credentials_version = var.repository_password_version
}

# What the team's applications are, and where this agent deploys them: `outpost service matrix` shows what runs where.
resource "outpost_service" "team" {
  for_each = toset(var.services)

  id    = each.value
  owner = local.team
}

resource "outpost_environment" "production" {
  id     = "production"
  type   = "production"
  agents = [var.agent]
}

# An application for each folder of `apps`: `shop-catalog`, `shop-checkout`, and whatever Git has next.
resource "outpost_application_set" "team" {
  id    = local.team
  agent = var.agent

  generators = [jsonencode({
    git = {
      repoURL     = var.repository_url
      revision    = "main"
      directories = [{ path = "apps/*" }]
    }
  })]
  go_template_options = ["missingkey=error"]

  # Each application is the service that its folder is named after.
  service     = "{{ .path.basename }}"
  environment = outpost_environment.production.id

  template = jsonencode({
    metadata = { name = "${local.team}-{{ .path.basename }}" }
    spec = {
      project     = outpost_app_project.team.status.name
      source      = { repoURL = var.repository_url, targetRevision = "main", path = "{{ .path.path }}" }
      destination = { name = "in-cluster", namespace = "${local.team}-{{ .path.basename }}" }
      syncPolicy  = { automated = { prune = true, selfHeal = true } }
    }
  })

  # Made when every application is Synced and Healthy.
  timeouts   = { create = "5m" }
  depends_on = [outpost_repository_credential.team, outpost_repository_certificate.git]
}

# A push is seen at once instead of at the next look, once the host knows the address and the secret:
# `outpost webhook secret git`.
resource "outpost_webhook" "git" {
  id   = "git"
  type = "gitea"
}
