output "cluster_name" {
  description = "The name of the cluster."
  value       = azurerm_kubernetes_cluster.main.name
}

output "connect" {
  description = "How kubectl gets to the cluster."
  value       = "az aks get-credentials --subscription ${var.subscription_id} --resource-group ${azurerm_resource_group.main.name} --name ${azurerm_kubernetes_cluster.main.name}"
}

output "outbound_addresses" {
  description = "What others see the nodes as."
  value       = azurerm_public_ip_prefix.nat.ip_prefix
}

output "registry" {
  description = "Where images are pushed to."
  value       = azurerm_container_registry.main.login_server
}

output "docker_hub" {
  description = "What stands for docker.io in the names of images."
  value       = "${azurerm_container_registry.main.login_server}/docker-hub"
}

output "storage_class" {
  description = "The storage class of checkpoints, as a manifest: it has the address of the file system. A team has a folder of its own."
  value = yamlencode({
    apiVersion = "storage.k8s.io/v1"
    kind       = "StorageClass"
    metadata   = { name = "checkpoints" }

    provisioner = "azurelustre.csi.azure.com"
    parameters = {
      mgs-ip-address = azurerm_managed_lustre_file_system.checkpoints.mgs_address
      sub-dir        = "$${pvc.metadata.namespace}"
    }

    mountOptions      = ["noatime", "flock"]
    reclaimPolicy     = "Retain"
    volumeBindingMode = "Immediate"
  })
}
