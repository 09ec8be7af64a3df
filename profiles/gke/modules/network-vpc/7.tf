# terraform-google-modules/network/google, vpc, from 7.
variable "network_name" {
  type = string
}

variable "auto_create_subnetworks" {
  type    = bool
  default = false
}

variable "routing_mode" {
  type    = string
  default = "GLOBAL"
}

resource "google_compute_network" "network" {
  name                    = var.network_name
  auto_create_subnetworks = var.auto_create_subnetworks
  routing_mode            = var.routing_mode
}

output "network" {
  value = google_compute_network.network
}

output "network_name" {
  value = google_compute_network.network.name
}

output "network_id" {
  value = google_compute_network.network.id
}

output "network_self_link" {
  value = google_compute_network.network.self_link
}
