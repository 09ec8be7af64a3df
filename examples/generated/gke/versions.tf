terraform {
  required_version = ">= 1.11" # from then on secrets need not be in the state

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "~> 7.0"
    }
  }
}

provider "google" {
  project = var.project
  region  = var.region

  # Cloud Quotas wants to know whose project asks, which the credentials of a person do not say.
  user_project_override = true
  billing_project       = var.project

  default_labels = {
    cluster = var.name
  }
}

resource "google_project_service" "needed" {
  for_each = toset([
    "artifactregistry.googleapis.com",
    "cloudquotas.googleapis.com",
    "cloudresourcemanager.googleapis.com",
    "compute.googleapis.com",
    "container.googleapis.com",
    "containerfilesystem.googleapis.com", # image streaming
    "dns.googleapis.com",
    "iam.googleapis.com",
    "lustre.googleapis.com",
    "secretmanager.googleapis.com",
    "servicenetworking.googleapis.com",
  ])

  service            = each.key
  disable_on_destroy = false # others in the project may use it too
}
