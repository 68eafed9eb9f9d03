# Takes OUTPOST_ENDPOINT and OUTPOST_API_KEY, or the sign-in of `outpost login`.
provider "outpost" {}

# An agent in Argo CD's own namespace. With the engine `argocd` it is only the link: it shows what Argo CD does and asks it to act.
resource "outpost_agent" "argo" {
  id        = "argo"
  name      = "Beside Argo CD"
  namespace = var.namespace
  engine    = var.engine
}
