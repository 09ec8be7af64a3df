module "gke" {
  source  = "terraform-google-modules/kubernetes-engine/google//modules/beta-autopilot-private-cluster"
  version = "~> 44.0"

  project_id        = "p"
  name              = "train"
  region            = "europe-west4"
  network           = "shared"
  subnetwork        = "shared-nodes"
  ip_range_pods     = "pods"
  ip_range_services = "services"
}
