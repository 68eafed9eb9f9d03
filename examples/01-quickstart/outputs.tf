output "agent" {
  value = module.agent.agent_id
}

output "delegate" {
  value = module.delegate.delegate_id
}

# What an application is doing now is in its data source; it is read after the application is changed.
data "outpost_application" "guestbook" {
  id = outpost_application.guestbook.id
}

output "application" {
  description = "Commit that is live."
  value       = try(data.outpost_application.guestbook.status.sync.revision, null)
}
