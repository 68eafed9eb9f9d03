terraform {
  # Write-only arguments and ephemeral resources.
  required_version = ">= 1.11"

  required_providers {
    outpost = {
      source = "outpost/outpost"
    }
    helm = {
      source  = "hashicorp/helm"
      version = ">= 3.1.1, < 4.0.0"
    }
  }
}
