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
  outpost_organization: `resource "outpost_organization" "example" {
  id   = "team"
  name = "The team"
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
};
