# Takes OUTPOST_ENDPOINT and OUTPOST_API_KEY, or the sign-in of `outpost login`.
provider "outpost" {}

# An agent in Argo CD's own namespace. With the engine `argocd` it is only the link: it shows what Argo CD does and asks it to act.
resource "outpost_agent" "argo" {
  id        = "argo"
  name      = "Beside Argo CD"
  namespace = var.namespace
  engine    = var.engine
}

# What the Argo CD projects of a team hold is shown to the organization of that team; everything else stays in the agent's scope.
resource "outpost_organization" "team" {
  for_each = var.teams
  id       = each.key
}

resource "outpost_argo_project_mapping" "team" {
  for_each     = var.teams
  id           = each.key
  agent        = outpost_agent.argo.id
  argo_project = each.value
  target_org   = outpost_organization.team[each.key].id
}
