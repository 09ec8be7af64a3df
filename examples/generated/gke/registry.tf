# In the region of the cluster, which image streaming needs.
resource "google_artifact_registry_repository" "train" {
  repository_id = "train"
  location      = var.region
  format        = "DOCKER"

  docker_config {
    immutable_tags = true # a tag stays what it was when a job was started
  }

  depends_on = [google_project_service.needed]
}

resource "google_artifact_registry_repository_iam_member" "train" {
  repository = google_artifact_registry_repository.train.name
  location   = var.region
  role       = "roles/artifactregistry.reader"
  member     = google_service_account.nodes.member
}

# Docker Hub allows 100 pulls in six hours from an address, which 450 nodes behind 2 of them use up within
# seconds. us-central1-docker.pkg.dev/my-project/train-docker-hub pulls each image once, as the account below if there is one.
resource "google_artifact_registry_repository" "docker_hub" {
  repository_id = "${var.name}-docker-hub" # a project has one of a name
  location      = var.region
  format        = "DOCKER"
  mode          = "REMOTE_REPOSITORY"

  remote_repository_config {
    docker_repository {
      public_repository = "DOCKER_HUB"
    }

    dynamic "upstream_credentials" {
      for_each = google_secret_manager_secret_version.docker_hub

      content {
        username_password_credentials {
          username                = var.docker_hub_user
          password_secret_version = upstream_credentials.value.name
        }
      }
    }
  }

  depends_on = [google_project_service.needed, google_secret_manager_secret_iam_member.docker_hub]
}

resource "google_artifact_registry_repository_iam_member" "docker_hub" {
  repository = google_artifact_registry_repository.docker_hub.name
  location   = var.region
  role       = "roles/artifactregistry.reader"
  member     = google_service_account.nodes.member
}

resource "google_secret_manager_secret" "docker_hub" {
  count = var.docker_hub_user == "" ? 0 : 1

  secret_id = "${var.name}-docker-hub"

  replication {
    auto {}
  }

  depends_on = [google_project_service.needed]
}

resource "google_secret_manager_secret_version" "docker_hub" {
  count = var.docker_hub_user == "" ? 0 : 1

  secret                 = google_secret_manager_secret.docker_hub[0].id
  secret_data_wo         = var.docker_hub_token
  secret_data_wo_version = 1 # one more for each new token: what is written only is in no state to compare with
}

data "google_project" "main" {
  project_id = var.project

  depends_on = [google_project_service.needed] # else it is asked for before its API is on
}

# Artifact Registry reads the token as its own account, which it makes with the first repository of a project.
resource "google_secret_manager_secret_iam_member" "docker_hub" {
  count = var.docker_hub_user == "" ? 0 : 1

  secret_id = google_secret_manager_secret.docker_hub[0].id
  role      = "roles/secretmanager.secretAccessor"
  member    = "serviceAccount:service-${data.google_project.main.number}@gcp-sa-artifactregistry.iam.gserviceaccount.com"

  depends_on = [google_artifact_registry_repository.train]
}
