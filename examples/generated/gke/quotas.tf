# What the project needs for 458 nodes. Google wants to know whom to answer: set quota_contact, or ask for these in
# the console, and wait for the answer before the first large job. Delete those here of which the
# project has more: Google takes a smaller number as a wish for less, and refuses to go below nine tenths.
locals {
  quotas = {
    n2-cpus = {
      id         = "N2-CPUS-per-project-region"
      value      = 72 # vCPUs
      dimensions = { region = var.region }
    }
    ssd = {
      id         = "SSD-TOTAL-GB-per-project-region"
      value      = 45900 # GB
      dimensions = { region = var.region }
    }
    h100-gpus = {
      id         = "GPUS-PER-GPU-FAMILY-per-project-region"
      value      = 3600 # GPUs
      dimensions = { region = var.region, gpu_family = "NVIDIA_H100" }
    }
    all-gpus = {
      id         = "GPUS-ALL-REGIONS-per-project"
      value      = 3600 # GPUs
      dimensions = {}
    }
    a3-local-ssd = {
      id         = "LOCAL-SSD-TOTAL-GB-PER-VM-FAMILY-per-project-region"
      value      = 2700000 # GB
      dimensions = { region = var.region, vm_family = "A3" }
    }
  }
}

resource "google_cloud_quotas_quota_preference" "needed" {
  for_each = { for key, quota in local.quotas : key => quota if var.quota_contact != "" }

  parent        = "projects/${var.project}"
  name          = "${var.name}-${each.key}"
  service       = "compute.googleapis.com"
  quota_id      = each.value.id
  dimensions    = each.value.dimensions
  contact_email = var.quota_contact

  quota_config {
    preferred_value = each.value.value
  }

  depends_on = [google_project_service.needed]
}
