variable "kubeconfig" {
  description = "Kubeconfig of the cluster."
  type        = string
  default     = "~/.kube/config"
}

variable "kube_context" {
  description = "Context in it; none means its current one."
  type        = string
  default     = ""
}

variable "endpoint" {
  description = "Address of the service, as the pods reach it. Terraform itself takes OUTPOST_ENDPOINT and OUTPOST_API_KEY, or the sign-in of `outpost login`."
  type        = string
}

variable "image" {
  description = "Image of the agent and the delegate; none means the charts' own."
  type        = string
  default     = ""
}

variable "repository_url" {
  description = "Git repository over HTTP(S) that has the folder `guestbook` of this example."
  type        = string
}

variable "repository_username" {
  type    = string
  default = "git"
}

variable "repository_password" {
  description = "Reaches the agent sealed; neither plan nor state has it."
  type        = string
  sensitive   = true
  ephemeral   = true
}

variable "repository_password_version" {
  description = "Change it to send a new password."
  type        = string
  default     = "1"
}
