terraform {
  # Write-only arguments and ephemeral variables.
  required_version = ">= 1.11"

  required_providers {
    outpost = {
      source = "outpost/outpost"
    }
  }
}
