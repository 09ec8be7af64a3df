# The cluster's own identity: it joins nodes to the subnet, and opens file shares to it.
resource "azurerm_user_assigned_identity" "cluster" {
  name                = "${var.name}-cluster"
  location            = azurerm_resource_group.main.location
  resource_group_name = azurerm_resource_group.main.name
}

resource "azurerm_role_assignment" "network" {
  scope                = azurerm_virtual_network.main.id
  role_definition_name = "Network Contributor"
  principal_id         = azurerm_user_assigned_identity.cluster.principal_id
}

resource "azurerm_kubernetes_cluster" "main" {
  name                = var.name
  location            = azurerm_resource_group.main.location
  resource_group_name = azurerm_resource_group.main.name
  dns_prefix          = var.name
  kubernetes_version  = var.kubernetes_version

  role_based_access_control_enabled = true

  # An API server that grows with the cluster, up to 5,000 nodes, and an SLA; Free is for tests with up to 10.
  sku_tier = "Standard"

  # The API server has a private address only; README.md says how to reach it.
  private_cluster_enabled = true

  api_server_access_profile {
    virtual_network_integration_enabled = true
    subnet_id                           = azurerm_subnet.api.id
  }

  identity {
    type         = "UserAssigned"
    identity_ids = [azurerm_user_assigned_identity.cluster.id]
  }

  # For the cluster's own pods and what is installed beside them, so that they keep no training node alive. It has no
  # taint: the training pools have one, so that this is where everything else goes.
  default_node_pool {
    name                        = "system"
    vm_size                     = "Standard_D16ds_v5" # what Microsoft recommends for large clusters
    os_disk_type                = "Ephemeral"         # on the machine itself
    orchestrator_version        = var.kubernetes_version
    vnet_subnet_id              = azurerm_subnet.nodes.id
    zones                       = ["1", "2", "3"]
    max_pods                    = 110 # enough for replicas of everything that is installed
    temporary_name_for_rotation = "systemtmp"

    auto_scaling_enabled = true
    min_count            = 3 # one in each of three zones
    max_count            = var.system_nodes

    upgrade_settings {
      max_surge                = "33%" # a node more for each three, as Microsoft recommends: nothing is missing meanwhile
      drain_timeout_in_minutes = 30    # the default: what runs here moves within minutes
    }
  }

  network_profile {
    # Pods get addresses that only the cluster knows, a /24 for each node; Cilium takes the place of kube-proxy, whose
    # rules slow down with every Service.
    network_plugin      = "azure"
    network_plugin_mode = "overlay"
    network_data_plane  = "cilium"
    network_policy      = "cilium"
    pod_cidr            = var.pod_cidr
    service_cidr        = var.service_cidr
    dns_service_ip      = var.dns_service_ip

    # Ports for connections to the outside are shared out as nodes need them. A load balancer hands each node a fixed
    # number, which runs out at some hundred nodes.
    outbound_type = "userAssignedNATGateway"
  }

  node_provisioning_profile {
    mode = "Manual" # the pools of node_pools.tf, sized by the Cluster Autoscaler
  }

  # The Cluster Autoscaler, which AKS runs: one for all pools.
  auto_scaler_profile {
    # Scaling up
    expander                    = "least-waste" # the pool whose nodes the job fills best, not a random one
    balance_similar_node_groups = false         # a job fills one pool: spread over two it loses InfiniBand
    new_pod_scale_up_delay      = "30s"         # waits until all pods of a job are there, and adds their nodes at once
    max_node_provisioning_time  = "15m"         # after that a zone counts as sold out, and another pool is tried
    scan_interval               = "10s"         # the default; a longer one delays every start by as much

    # Nodes that are not ready
    max_unready_percentage = 45  # one of several zones and a few nodes may fail; more than that is a broken cluster, and pauses it
    max_unready_nodes      = 260 # a batch of nodes that are deleted, and a few that fail, do not pause it

    # Scaling down
    scale_down_unneeded              = "2m"  # idle nodes are paid for; a queue starts the next job sooner than this
    scale_down_unready               = "20m" # the default: a node whose InfiniBand driver is still being compiled is not ready, and not broken
    scale_down_delay_after_add       = "2m"  # the default of 10m keeps the nodes of short jobs
    scale_down_delay_after_delete    = "0s"  # the next batch follows at once
    scale_down_delay_after_failure   = "1m"  # one deletion that fails holds up no others
    scale_down_utilization_threshold = "0.5" # the default; jobs use whole nodes
    empty_bulk_delete_max            = 200   # empty nodes a loop, instead of 10
    max_graceful_termination_sec     = 600   # the default; time for a pod that is moved to write its checkpoint
    skip_nodes_with_local_storage    = false # scratch data on a node does not keep it
    skip_nodes_with_system_pods      = false # a pod of kube-system that strayed onto a training node does not keep it
  }

  # Once a month, so that runs of weeks are interrupted seldom and when everybody knows it.
  automatic_upgrade_channel = "patch"     # patches only, in the window below; a new minor version is a decision
  node_os_upgrade_channel   = "NodeImage" # a new image replaces the nodes' system, so it waits for the window below

  maintenance_window_auto_upgrade {
    frequency   = "RelativeMonthly"
    interval    = 1
    week_index  = "First"
    day_of_week = "Sunday"
    start_time  = "02:00"
    utc_offset  = "+00:00"
    duration    = 8 # pools are upgraded one after the other
  }

  maintenance_window_node_os {
    frequency   = "RelativeMonthly"
    interval    = 1
    week_index  = "First"
    day_of_week = "Sunday"
    start_time  = "02:00"
    utc_offset  = "+00:00"
    duration    = 8 # pools are upgraded one after the other
  }

  depends_on = [
    azurerm_role_assignment.network,
    azurerm_nat_gateway_public_ip_prefix_association.nat,
    azurerm_subnet_nat_gateway_association.nodes,
  ]
}
