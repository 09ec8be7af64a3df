resource "google_compute_network" "main" {
  name                    = var.name
  auto_create_subnetworks = false # else Google makes a subnet in every region
  mtu                     = 8896  # the largest packets make Managed Lustre a tenth faster

  depends_on = [google_project_service.needed]
}

resource "google_compute_subnetwork" "nodes" {
  name                     = "${var.name}-nodes"
  network                  = google_compute_network.main.id
  region                   = var.region
  ip_cidr_range            = var.node_cidr
  private_ip_google_access = true # images and data of Google's own services go past the NAT gateway

  secondary_ip_range {
    range_name    = "pods"
    ip_cidr_range = var.pod_cidr
  }

  secondary_ip_range {
    range_name    = "services"
    ip_cidr_range = var.service_cidr
  }
}

resource "google_compute_router" "main" {
  name    = var.name
  network = google_compute_network.main.id
  region  = var.region
}

# Addresses that stay, so that others can let them in.
resource "google_compute_address" "nat" {
  count = var.nat_addresses

  name   = "${var.name}-nat-${count.index}"
  region = var.region

  depends_on = [google_project_service.needed]
}

resource "google_compute_router_nat" "main" {
  name   = var.name
  router = google_compute_router.main.name
  region = var.region

  nat_ip_allocate_option             = "MANUAL_ONLY"
  nat_ips                            = google_compute_address.nat[*].self_link
  source_subnetwork_ip_ranges_to_nat = "ALL_SUBNETWORKS_ALL_IP_RANGES"

  enable_dynamic_port_allocation = true
  min_ports_per_vm               = 128  # of every node from the start: twice Google's default
  max_ports_per_vm               = 1024 # of a node that has many connections, while there are any left

  log_config {
    enable = true
    filter = "ERRORS_ONLY" # connections for which there was no port
  }
}

# A network for each card of a node for its GPUs: nodes of a job talk there.
resource "google_compute_network" "gpu" {
  count = 4

  name                    = "${var.name}-gpu-${count.index}"
  auto_create_subnetworks = false
  mtu                     = 8244 # what Google recommends for these networks

  depends_on = [google_project_service.needed]
}

resource "google_compute_subnetwork" "gpu" {
  count = 4

  name          = "${var.name}-gpu-${count.index}"
  network       = google_compute_network.gpu[count.index].id
  region        = var.region
  ip_cidr_range = cidrsubnet(var.gpu_cidr, 2, count.index)
}

resource "google_compute_firewall" "gpu" {
  count = 4

  name          = "${var.name}-gpu-${count.index}"
  network       = google_compute_network.gpu[count.index].id
  source_ranges = [var.gpu_cidr]

  allow {
    protocol = "all"
  }
}

# Managed Lustre is in a network of Google's, which a peering joins to this one.
resource "google_compute_global_address" "storage" {
  name          = "${var.name}-storage"
  purpose       = "VPC_PEERING"
  address_type  = "INTERNAL"
  address       = split("/", var.storage_cidr)[0]
  prefix_length = split("/", var.storage_cidr)[1]
  network       = google_compute_network.main.id
}

resource "google_service_networking_connection" "storage" {
  network                 = google_compute_network.main.id
  service                 = "servicenetworking.googleapis.com"
  reserved_peering_ranges = [google_compute_global_address.storage.name]

  depends_on = [google_project_service.needed]
}

resource "google_compute_firewall" "storage" {
  name          = "${var.name}-storage"
  network       = google_compute_network.main.id
  source_ranges = [var.storage_cidr]

  allow {
    protocol = "tcp"
    ports    = ["988"] # Lustre's; its servers call back
  }
}
