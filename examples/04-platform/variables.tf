variable "agent" {
  description = "Id of an agent that is connected already, as the one of 01-quickstart."
  type        = string
  default     = "quickstart"
}

variable "repository_url" {
  description = "Git repository over HTTP(S) that has the folder `apps` of this example."
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

variable "git_authority" {
  description = "Certificate authority of the Git host, PEM; none means those that every program trusts."
  type        = string
  default     = ""
}

variable "services" {
  description = "Services of the team, by the names of their folders below `apps`."
  type        = list(string)
  default     = ["catalog", "checkout"]
}
