output "agent" {
  value = module.agent.agent_id
}

output "delegate" {
  value = module.delegate.delegate_id
}

output "application" {
  description = "Commit that is live."
  value       = try(outpost_application.guestbook.status.sync.revision, null)
}
