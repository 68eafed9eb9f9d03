output "run" {
  description = "How to start it and follow it."
  value       = "outpost pipeline run ${outpost_pipeline.release.id} --input version=1.0.0 --wait"
}
