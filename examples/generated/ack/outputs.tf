output "cluster_id" {
  description = "The id of the cluster, which commands want instead of its name."
  value       = alicloud_cs_managed_kubernetes.this.id
}

output "connect" {
  description = "How kubectl gets to the cluster; KUBECONFIG names the file that this writes."
  value = join(" ", [
    "aliyun cs DescribeClusterUserKubeconfig --region ${var.region} --ClusterId ${alicloud_cs_managed_kubernetes.this.id} --PrivateIpAddress true",
    "| jq -r .config > ${var.name}.kubeconfig",
  ])
}

output "docker_hub" {
  description = "What stands for docker.io in the names of images that are in var.docker_hub_images."
  value       = "train-1234567890123456-registry-vpc.ap-southeast-1.cr.aliyuncs.com"
}
