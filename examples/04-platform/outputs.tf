# What a set is doing now is in its data source; it is read after the set is changed.
data "outpost_application_set" "team" {
  id = outpost_application_set.team.id
}

output "applications" {
  description = "What the set made, and how it is."
  value       = { for app in data.outpost_application_set.team.status.applications : app.name => "${app.sync}, ${app.health}" }
}

output "webhook" {
  description = "Address to enter at the Git host."
  value       = outpost_webhook.git.status.url
}
