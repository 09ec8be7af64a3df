# `terraform test` fails where an edit leaves a cluster that cannot hold its job. It plans only, and asks Azure nothing.
mock_provider "azurerm" {
  mock_data "azurerm_client_config" {
    defaults = {
      tenant_id = "00000000-0000-0000-0000-000000000000"
      object_id = "00000000-0000-0000-0000-000000000000"
    }
  }
}

variables {
  docker_hub_user  = "nobody"
  docker_hub_token = "none"
}

run "control_plane" {
  command = plan

  assert {
    condition     = azurerm_kubernetes_cluster.main.sku_tier != "Free"
    error_message = "The Free tier is for up to 10 nodes; this cluster has up to 1,013."
  }

  assert {
    condition     = azurerm_kubernetes_cluster.main.private_cluster_enabled
    error_message = "The API server has a public address, and no ranges that it answers."
  }

  assert {
    condition     = tonumber(split("/", var.api_cidr)[1]) <= 28
    error_message = "The subnet of the API server needs a /28 at least."
  }
}

run "network" {
  command = plan

  assert {
    condition     = pow(2, 32 - tonumber(split("/", var.nodes_cidr)[1])) - 5 >= 1013
    error_message = "The subnet of the nodes has fewer addresses than 1,013 nodes take."
  }

  assert {
    condition     = pow(2, 24 - tonumber(split("/", var.pod_cidr)[1])) >= 1013
    error_message = "The range of pods has fewer blocks of /24 than 1,013 nodes take."
  }

  assert {
    condition     = pow(2, 32 - var.nat_prefix_length) * 64512 >= min(1013 * 128, 16 * 64512)
    error_message = "The NAT gateway has fewer than 128 ports for each of 1,013 nodes."
  }
}

run "pools" {
  command = plan

  assert {
    condition     = sum([for pool in azurerm_kubernetes_cluster_node_pool.training : pool.max_count]) >= 1000
    error_message = "The pools hold fewer than the 1,000 nodes of intent.yaml."
  }

  assert {
    condition     = sum([for pool in azurerm_kubernetes_cluster_node_pool.training : pool.max_count]) + var.system_nodes <= 5000
    error_message = "The pools hold more than the 5,000 nodes of a cluster."
  }

  assert {
    condition     = anytrue([for pool in azurerm_kubernetes_cluster_node_pool.training : pool.max_count >= 100 && length(pool.zones) == 1])
    error_message = "No pool in one zone has room for a job of 100 nodes, and InfiniBand ends at a pool."
  }

  assert {
    condition     = alltrue([for pool in azurerm_kubernetes_cluster_node_pool.training : pool.max_count <= 100])
    error_message = "A pool is larger than a scale set with InfiniBand can be."
  }

  assert {
    condition     = alltrue([for pool in azurerm_kubernetes_cluster_node_pool.training : pool.min_count == 0])
    error_message = "A pool keeps nodes that nobody uses."
  }
}

run "storage" {
  command = plan

  assert {
    condition     = azurerm_managed_lustre_file_system.checkpoints.storage_capacity_in_tb * 500 >= 62500
    error_message = "The file system is slower than the 62,500 MB/s of a job of 100 nodes."
  }

  assert {
    condition     = tonumber(split("/", var.lustre_cidr)[1]) <= 24
    error_message = "The subnet of the file system needs a /24."
  }
}

run "names" {
  command = plan

  assert {
    condition     = can(regex("^[a-z0-9]{5,50}$", var.registry_name))
    error_message = "The name of a registry is 5 to 50 letters and digits."
  }

  assert {
    condition     = can(regex("^[a-z][a-z0-9-]{2,23}$", var.vault_name))
    error_message = "The name of a Key Vault is 3 to 24 letters, digits and hyphens."
  }
}
