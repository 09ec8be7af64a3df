output "cluster_name" {
  description = "The name of the cluster."
  value       = google_container_cluster.main.name
}

output "connect" {
  description = "How kubectl gets to the cluster."
  value       = "gcloud container clusters get-credentials ${var.name} --location ${var.region} --project ${var.project} --dns-endpoint"
}

output "nat_addresses" {
  description = "The addresses that the nodes come from; who lets in by address needs them."
  value       = google_compute_address.nat[*].address
}

output "docker_hub" {
  description = "What stands for docker.io in the names of images."
  value       = "us-central1-docker.pkg.dev/my-project/train-docker-hub"
}
