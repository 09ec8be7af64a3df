module "gke" {
  source  = "terraform-google-modules/kubernetes-engine/google//modules/safer-cluster"
  version = "~> 44.0"

  project_id        = "p"
  name              = "train"
  region            = "europe-west4"
  zones             = ["europe-west4-a"]
  network           = "shared"
  subnetwork        = "shared-nodes"
  ip_range_pods     = "pods"
  ip_range_services = "services"
}
