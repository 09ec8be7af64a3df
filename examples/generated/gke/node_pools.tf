# For the cluster's own pods, so that they keep no training node alive.
resource "google_container_node_pool" "system" {
  name     = "system"
  cluster  = google_container_cluster.main.id
  location = var.region

  node_locations     = var.zones
  initial_node_count = 1   # in each zone
  max_pods_per_node  = 110 # many small pods: a /24 of addresses a node

  # Totals: without them GKE counts in each zone.
  autoscaling {
    total_min_node_count = 3
    total_max_node_count = var.system_nodes
    location_policy      = "BALANCED" # over the zones, so that none takes all of them with it
  }

  node_config {
    machine_type    = "n2-standard-8" # 8 vCPUs: controllers that watch every pod want whole ones
    image_type      = "COS_CONTAINERD"
    disk_type       = "pd-balanced"
    disk_size_gb    = 100
    service_account = google_service_account.nodes.email
    oauth_scopes    = ["https://www.googleapis.com/auth/cloud-platform"] # IAM decides, not scopes

    gcfs_config {
      enabled = true
    }

    shielded_instance_config {
      enable_secure_boot          = true
      enable_integrity_monitoring = true
    }

    workload_metadata_config {
      mode = "GKE_METADATA"
    }

    metadata = {
      disable-legacy-endpoints = "true" # as GKE sets it
    }
  }

  management {
    auto_repair  = true
    auto_upgrade = true # which a release channel wants; in the window of the cluster
  }

  upgrade_settings {
    max_surge       = 1
    max_unavailable = 0
  }

  lifecycle {
    ignore_changes = [initial_node_count]
  }
}

resource "google_container_node_pool" "training" {
  for_each = var.training_pools

  name     = each.key
  cluster  = google_container_cluster.main.id
  location = var.region

  node_locations     = each.value.zones
  initial_node_count = 0
  max_pods_per_node  = 32 # the training pod and DaemonSets: a /26 of addresses a node, not a /24

  # An empty pool costs nothing. ANY takes machines in whichever of its zones has them.
  autoscaling {
    total_min_node_count = 0
    total_max_node_count = each.value.nodes
    location_policy      = "ANY"
  }

  # Nodes of a pool close to each other: those of a job talk all the time. Nodes of a reservation are where that is.
  dynamic "placement_policy" {
    for_each = contains(keys(var.reservations), each.value.zones[0]) ? [] : ["COMPACT"]

    content {
      type = placement_policy.value
    }
  }

  # A network for each card of a node for its GPUs: nodes of a job talk there.
  network_config {
    dynamic "additional_node_network_configs" {
      for_each = google_compute_subnetwork.gpu[*].name

      content {
        network    = additional_node_network_configs.value # it has the name of its subnet
        subnetwork = additional_node_network_configs.value
      }
    }
  }

  node_config {
    machine_type    = each.value.machine
    spot            = each.value.spot
    image_type      = "COS_CONTAINERD" # image streaming wants it
    disk_type       = var.training_machines[each.value.machine].disk_type
    disk_size_gb    = var.training_machines[each.value.machine].disk_size
    service_account = google_service_account.nodes.email
    oauth_scopes    = ["https://www.googleapis.com/auth/cloud-platform"]

    guest_accelerator {
      type  = var.training_machines[each.value.machine].accelerator
      count = var.training_machines[each.value.machine].gpus

      gpu_driver_installation_config {
        gpu_driver_version = "DEFAULT" # GKE installs the driver before the node is ready
      }
    }

    # Where you have a reservation. Without one, nodes are on demand, from any open reservation first.
    dynamic "reservation_affinity" {
      for_each = each.value.spot ? [] : compact([lookup(var.reservations, each.value.zones[0], "")])

      content {
        consume_reservation_type = "SPECIFIC_RESERVATION"
        key                      = "compute.googleapis.com/reservation-name"
        values                   = [reservation_affinity.value]
      }
    }

    # The local SSDs as one disk for images and scratch data.
    ephemeral_storage_local_ssd_config {
      local_ssd_count = var.training_machines[each.value.machine].local_ssds
    }

    # Containers start while the rest of their image is still on its way.
    gcfs_config {
      enabled = true
    }

    # Google's own network card, faster than virtio.
    gvnic {
      enabled = true
    }

    shielded_instance_config {
      enable_secure_boot          = true # Google signs the drivers that GKE installs
      enable_integrity_monitoring = true
    }

    workload_metadata_config {
      mode = "GKE_METADATA"
    }

    metadata = {
      disable-legacy-endpoints = "true" # as GKE sets it
    }

    labels = {
      "training/pool"   = "training"
      "training/market" = each.value.spot ? "spot" : "on-demand"
    }

    taint {
      key    = "nvidia.com/gpu"
      value  = "present"
      effect = "NO_SCHEDULE"
    }
  }

  management {
    auto_repair  = true
    auto_upgrade = true # which a release channel wants; not before the end of support, as follows
  }

  # An upgrade takes nodes from under a job: they happen when you start them, or at the end of support.
  maintenance_policy {
    exclusion_until_end_of_support {
      enabled = true
    }
  }

  # Then as many at a time as GKE allows, and without machines in addition: there are none to be had.
  upgrade_settings {
    max_surge       = 0
    max_unavailable = 20
  }

  lifecycle {
    ignore_changes = [initial_node_count]
  }
}
