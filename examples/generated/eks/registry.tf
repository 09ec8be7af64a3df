# Docker Hub allows 100 pulls in six hours from an address, which 1,000 nodes behind 3 gateways use up within
# seconds. 111122223333.dkr.ecr.us-east-2.amazonaws.com/docker-hub pulls each image once, with the account below.
resource "aws_ecr_pull_through_cache_rule" "docker_hub" {
  ecr_repository_prefix = "docker-hub"
  upstream_registry_url = "registry-1.docker.io"
  credential_arn        = aws_secretsmanager_secret.docker_hub.arn
}

resource "aws_secretsmanager_secret" "docker_hub" {
  name = "ecr-pullthroughcache/${var.name}-docker-hub" # ECR takes no other prefix
}

resource "aws_secretsmanager_secret_version" "docker_hub" {
  secret_id = aws_secretsmanager_secret.docker_hub.id

  secret_string = jsonencode({
    username    = var.docker_hub_user
    accessToken = var.docker_hub_token
  })
}

resource "aws_ecr_repository" "train" {
  name                 = "train"
  image_tag_mutability = "IMMUTABLE" # a tag stays what it was when a job was started
}
