# `terraform test` fails where an edit leaves a cluster that cannot hold its jobs. It asks Google nothing.
mock_provider "google" {}

run "cluster" {
  command = plan

  assert {
    condition     = google_container_cluster.main.location == var.region
    error_message = "The control plane of a zone is away while it is upgraded: location must be a region."
  }

  assert {
    condition     = google_container_cluster.main.private_cluster_config[0].enable_private_nodes
    error_message = "Nodes with public addresses need one each."
  }

  assert {
    condition     = !google_container_cluster.main.control_plane_endpoints_config[0].ip_endpoints_config[0].enabled
    error_message = "The API server must have no IP address."
  }

  assert {
    condition     = google_container_cluster.main.enable_multi_networking && google_container_cluster.main.datapath_provider == "ADVANCED_DATAPATH"
    error_message = "Networks between GPUs need enable_multi_networking and Dataplane V2."
  }
}

run "pools" {
  command = plan

  assert {
    condition     = sum([for pool in google_container_node_pool.training : pool.autoscaling[0].total_max_node_count]) >= 450
    error_message = "The maxima of the training pools are together less than 450 nodes."
  }

  assert {
    condition = anytrue([
      for zone in var.zones : 64 <= sum(concat([0], [for pool in var.training_pools : pool.nodes if !pool.spot && pool.zones[0] == zone]))
    ])
    error_message = "No zone has room for the 64 nodes of the usual job."
  }

  assert {
    condition = alltrue([
      for pool in google_container_node_pool.training : pool.autoscaling[0].total_min_node_count == 0 && length(setsubtract(pool.node_locations, var.zones)) == 0
    ])
    error_message = "Training pools must begin at no nodes, in zones of the cluster."
  }

  assert {
    condition = alltrue([
      for key, pool in google_container_node_pool.training : length(pool.network_config[0].additional_node_network_configs) == 4
    ])
    error_message = "Each training pool needs 4 networks beside the ordinary one."
  }
}

run "addresses" {
  command = plan

  # Two ranges overlap where they are the same up to the prefix of the larger one.
  assert {
    condition = alltrue([
      for pair in setproduct(
        [var.node_cidr, var.pod_cidr, var.service_cidr, var.gpu_cidr, var.storage_cidr],
        [var.node_cidr, var.pod_cidr, var.service_cidr, var.gpu_cidr, var.storage_cidr],
      ) : pair[0] == pair[1] || length(distinct([for one in pair : cidrhost("${split("/", one)[0]}/${min([for each in pair : split("/", each)[1]]...)}", 0)])) == length(pair)
    ])
    error_message = "Two of the ranges overlap."
  }

  assert {
    condition     = pow(2, 32 - split("/", var.node_cidr)[1]) - 4 >= sum([for pool in var.training_pools : pool.nodes]) + var.system_nodes
    error_message = "node_cidr has fewer addresses than the pools have nodes at their maxima."
  }

  assert {
    condition = pow(2, 32 - split("/", var.pod_cidr)[1]) >= sum(concat(
      [for pool in var.training_pools : pool.nodes * pow(2, 32 - 26)],
      [var.system_nodes * pow(2, 32 - 24)],
    ))
    error_message = "pod_cidr has fewer blocks than the pools have nodes at their maxima: a /26 for a training node, a /24 for another one."
  }

  assert {
    condition     = var.nat_addresses * 64512 >= (sum([for pool in var.training_pools : pool.nodes]) + var.system_nodes) * google_compute_router_nat.main.min_ports_per_vm
    error_message = "nat_addresses are too few for the ports of all nodes."
  }

  assert {
    condition     = pow(2, 32 - 2 - split("/", var.gpu_cidr)[1]) - 4 >= sum([for pool in var.training_pools : pool.nodes])
    error_message = "gpu_cidr has fewer addresses in each network than the pools have nodes at their maxima."
  }
}
