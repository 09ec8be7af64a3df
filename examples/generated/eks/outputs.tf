output "cluster_name" {
  description = "The name of the cluster."
  value       = module.eks.cluster_name
}

output "connect" {
  description = "How kubectl gets to the cluster."
  value       = "aws eks update-kubeconfig --region ${var.region} --name ${module.eks.cluster_name}"
}

output "tunnel" {
  description = "What opens a way to the API server through a system node, at https://localhost:8443."
  value = join(" ", [
    "aws ssm start-session --region ${var.region} --document-name AWS-StartPortForwardingSessionToRemoteHost",
    "--parameters host=${trimprefix(module.eks.cluster_endpoint, "https://")},portNumber=443,localPortNumber=8443 --target",
    "$(aws ec2 describe-instances --region ${var.region} --query 'Reservations[0].Instances[0].InstanceId' --output text --filters",
    "Name=tag:eks:cluster-name,Values=${var.name} Name=tag:eks:nodegroup-name,Values=system-* Name=instance-state-name,Values=running)",
  ])
}

output "connect_by_tunnel" {
  description = "How kubectl gets to the cluster through the tunnel, after connect."
  value       = "kubectl config set-cluster ${module.eks.cluster_arn} --server=https://localhost:8443 --tls-server-name=${trimprefix(module.eks.cluster_endpoint, "https://")}"
}

output "docker_hub" {
  description = "What stands for docker.io in the names of images."
  value       = "111122223333.dkr.ecr.us-east-2.amazonaws.com/train-hub"
}

output "keep_spot_nodes" {
  description = "What keeps AWS from ending nodes of a job to even out a spot pool over its zones."
  value = join("; ", [
    for name, pool in var.training_pools :
    "aws autoscaling suspend-processes --region ${var.region} --scaling-processes AZRebalance --auto-scaling-group-name ${module.eks.eks_managed_node_groups[name].node_group_autoscaling_group_names[0]}"
    if pool.spot && length(pool.zones) > 1
  ])
}
