resource "google_container_cluster" "main" {
  name     = var.name
  location = var.region # a region: the control plane of a zone is away while it is upgraded

  node_locations      = var.zones
  deletion_protection = true # terraform destroy ends here until this is false

  resource_labels = {
    cluster = var.name
  }

  release_channel {
    channel = "REGULAR" # versions that others have run for some weeks
  }

  min_master_version = var.kubernetes_version

  network           = google_compute_network.main.id
  subnetwork        = google_compute_subnetwork.nodes.id
  networking_mode   = "VPC_NATIVE"
  datapath_provider = "ADVANCED_DATAPATH" # Dataplane V2: network policies without kube-proxy's chains of iptables

  enable_multi_networking = true # the networks of node_pools.tf for GPUs

  ip_allocation_policy {
    cluster_secondary_range_name  = "pods"
    services_secondary_range_name = "services"
  }

  private_cluster_config {
    enable_private_nodes = true
  }

  # kubectl comes in by name, let in by IAM from anywhere: no address of the control plane is public.
  control_plane_endpoints_config {
    dns_endpoint_config {
      allow_external_traffic = true
    }

    ip_endpoints_config {
      enabled = false
    }
  }

  # All pools are in node_pools.tf: no node auto-provisioning.
  # OPTIMIZE_UTILIZATION packs pods and gives idle nodes back at once; BALANCED keeps each for ten minutes, paid.
  cluster_autoscaling {
    enabled             = false
    autoscaling_profile = "OPTIMIZE_UTILIZATION"
  }

  # Google's own DNS: no replicas to add as the cluster grows.
  dns_config {
    cluster_dns       = "CLOUD_DNS"
    cluster_dns_scope = "CLUSTER_SCOPE"
  }

  addons_config {
    # A cache of DNS on each node: thousands of pods of a job look each other up in the same second.
    dns_cache_config {
      enabled = true
    }

    # Shared volumes: Managed Lustre as in kubernetes/storage-class.yaml, and buckets.
    lustre_csi_driver_config {
      enabled = true
    }

    gcs_fuse_csi_driver_config {
      enabled = true
    }
  }

  # What jobs print and what pods use is read by values/, and is not paid for in Google's own store as well: only GPU metrics are.
  monitoring_config {
    enable_components = ["SYSTEM_COMPONENTS", "DCGM"] # DCGM: the exporter that kubernetes/gpu-metrics.yaml reads

    managed_prometheus {
      enabled = true # reads that exporter, too, and is paid by the sample
    }
  }

  logging_config {
    enable_components = ["SYSTEM_COMPONENTS"]
  }

  # People and programs come in by IAM, not by a certificate that nobody can take back.
  master_auth {
    client_certificate_config {
      issue_client_certificate = false
    }
  }

  # Pods are Google accounts of their own, with no keys in Secrets.
  workload_identity_config {
    workload_pool = "${var.project}.svc.id.goog"
  }

  maintenance_policy {
    # Google upgrades at weekends only; it wants at least 48 hours in 32 days.
    recurring_window {
      start_time = "2026-01-03T02:00:00Z"
      end_time   = "2026-01-03T10:00:00Z"
      recurrence = "FREQ=WEEKLY;BYDAY=SA,SU"
    }
  }

  # GKE wants a pool to begin with; those of node_pools.tf take its place.
  remove_default_node_pool = true
  initial_node_count       = 1

  # Else that pool has the default account of the project, which may have no rights.
  node_config {
    service_account = google_service_account.nodes.email
    oauth_scopes    = ["https://www.googleapis.com/auth/cloud-platform"]

    shielded_instance_config {
      enable_secure_boot          = true
      enable_integrity_monitoring = true
    }
  }

  lifecycle {
    ignore_changes = [node_config, initial_node_count] # of the pool that is gone
  }

  depends_on = [google_project_iam_member.nodes] # before the first node
}

# The account of the nodes, with no more rights than GKE asks for; images are in registry.tf.
resource "google_service_account" "nodes" {
  account_id   = "${var.name}-nodes"
  display_name = "Nodes of the cluster ${var.name}"

  depends_on = [google_project_service.needed]
}

resource "google_project_iam_member" "nodes" {
  for_each = toset([
    "roles/container.defaultNodeServiceAccount",
    "roles/serviceusage.serviceUsageConsumer", # image streaming
  ])

  project = var.project
  role    = each.key
  member  = google_service_account.nodes.member
}
