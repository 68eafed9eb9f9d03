output "install" {
  description = "Command that installs the agent, and that switches its engine after a change of `engine`."
  value       = "outpost agent values ${outpost_agent.argo.id} | helm upgrade --install outpost-agent ../../modules/charts/outpost-agent --namespace ${var.namespace} --values -"
}
