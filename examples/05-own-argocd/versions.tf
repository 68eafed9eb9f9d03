terraform {
  required_version = ">= 1.11"

  required_providers {
    outpost = {
      source = "outpost/outpost"
    }
  }
}
