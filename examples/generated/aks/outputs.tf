output "cluster_name" {
  description = "The name of the cluster."
  value       = azurerm_kubernetes_cluster.main.name
}

output "connect" {
  description = "How kubectl gets to the cluster."
  value       = "az aks get-credentials --resource-group ${var.name} --name ${azurerm_kubernetes_cluster.main.name}"
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
