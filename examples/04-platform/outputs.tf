output "applications" {
  description = "What the set made, and how it is."
  value       = { for app in outpost_application_set.team.status.applications : app.name => "${app.sync}, ${app.health}" }
}

output "webhook" {
  description = "Address to enter at the Git host."
  value       = outpost_webhook.git.status.url
}
