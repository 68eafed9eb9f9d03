variable "namespace" {
  description = "Namespace in which Argo CD runs."
  type        = string
  default     = "argocd"
}

variable "engine" {
  description = "What keeps applications equal to Git: `argocd`, or `outpost` once you have moved over."
  type        = string
  default     = "argocd"
}

variable "teams" {
  description = "Organizations, each with the Argo CD project that it sees: a name, or a glob such as `shop-*`."
  type        = map(string)
  default     = {}
}
