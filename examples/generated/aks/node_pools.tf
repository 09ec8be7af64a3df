resource "azurerm_kubernetes_cluster_node_pool" "training" {
  for_each = var.training_pools

  name                        = each.key
  kubernetes_cluster_id       = azurerm_kubernetes_cluster.main.id
  orchestrator_version        = var.kubernetes_version
  vm_size                     = var.training_machine
  os_disk_type                = "Ephemeral" # on the machine itself, as fast as it gets for large images
  vnet_subnet_id              = azurerm_subnet.nodes.id
  zones                       = each.value.zones
  max_pods                    = 32 # a training pod or a few, and those of DaemonSets; AKS keeps 20 MB of the node's memory for each pod that it may run
  node_public_ip_enabled      = false
  temporary_name_for_rotation = "tmp${substr(sha1(each.key), 0, 5)}"
  gpu_driver                  = "Install" # by AKS; the device plugin is in kubernetes/

  # A pool without nodes shows no InfiniBand: without this tag, the autoscaler starts none for a job that asks for it.
  tags = {
    "k8s.io_cluster-autoscaler_node-template_resources_rdma_ib" = "8"
  }

  # An empty pool costs nothing; the autoscaler sets the size from then on.
  auto_scaling_enabled = true
  min_count            = 0
  max_count            = each.value.nodes

  node_labels = {
    "training/pool"   = "training"
    "training/market" = "on-demand"
  }

  node_taints = ["nvidia.com/gpu=true:NoSchedule"]

  # A third of the nodes at a time, in place: spare machines for a surge are rarely to be had, and cost.
  upgrade_settings {
    max_unavailable          = "33%"
    drain_timeout_in_minutes = 1440 # as long as a job runs, if a budget keeps it from being evicted
  }
}
