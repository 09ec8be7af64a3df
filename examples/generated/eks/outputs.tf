output "cluster_name" {
  description = "The name of the cluster."
  value       = module.eks.cluster_name
}

output "connect" {
  description = "How kubectl gets to the cluster."
  value       = "aws eks update-kubeconfig --region ${var.region} --name ${module.eks.cluster_name}"
}

output "docker_hub" {
  description = "What stands for docker.io in the names of images."
  value       = "111122223333.dkr.ecr.us-east-2.amazonaws.com/train-hub"
}
