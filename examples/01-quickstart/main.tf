# Takes OUTPOST_ENDPOINT and OUTPOST_API_KEY, or the sign-in of `outpost login`.
provider "outpost" {}

provider "helm" {
  kubernetes = {
    config_path    = pathexpand(var.kubeconfig)
    config_context = var.kube_context == "" ? null : var.kube_context
  }
}

# An agent in the cluster: registered, installed, enrolled, connected.
module "agent" {
  source = "../../modules/hcl/agent"

  id       = "quickstart"
  name     = "Quickstart"
  endpoint = var.endpoint
  image    = var.image
}

resource "outpost_repository" "code" {
  id       = "code"
  agent    = module.agent.agent_id
  url      = var.repository_url
  username = var.repository_username

  credentials = {
    password = var.repository_password
  }
  credentials_version = var.repository_password_version
}

# The agent's own cluster.
resource "outpost_cluster" "local" {
  id     = "local"
  agent  = module.agent.agent_id
  server = "https://kubernetes.default.svc"
}

# Made when it is Synced and Healthy. Its namespace is among its manifests, so it goes with the application.
resource "outpost_application" "guestbook" {
  id    = "guestbook"
  agent = module.agent.agent_id

  source = {
    repository      = outpost_repository.code.id
    path            = "guestbook"
    target_revision = "main"
  }

  destination = {
    cluster   = outpost_cluster.local.id
    namespace = "guestbook"
  }

  sync_policy = {
    automated = {
      prune     = true
      self_heal = true
    }
  }
}

# A delegate: takes tasks and runs them here.
module "delegate" {
  source = "../../modules/hcl/delegate"

  id       = "quickstart"
  name     = "Quickstart"
  endpoint = var.endpoint
  image    = var.image
  tags     = ["quickstart"]
}
