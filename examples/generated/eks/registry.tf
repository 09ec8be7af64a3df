resource "aws_ecr_repository" "train" {
  name                 = "train/train"
  image_tag_mutability = "IMMUTABLE" # a tag stays what it was when a job was started

  image_scanning_configuration {
    scan_on_push = true
  }
}

# Docker Hub allows 100 pulls in six hours from an address, which 1,000 nodes behind 3 gateways use up within
# seconds. 111122223333.dkr.ecr.us-east-2.amazonaws.com/train-hub pulls each image once, with the account below.
resource "aws_ecr_pull_through_cache_rule" "docker_hub" {
  ecr_repository_prefix = "${var.name}-hub" # ECR takes 30 letters; two clusters of an account share no rule
  upstream_registry_url = "registry-1.docker.io"
  credential_arn        = aws_secretsmanager_secret.docker_hub.arn

  depends_on = [aws_secretsmanager_secret_version.docker_hub] # ECR looks into the secret
}

# The first pull of an image makes its repository, which the nodes' own policies do not allow.
resource "aws_iam_policy" "docker_hub" {
  name_prefix = "${var.name}-docker-hub-" # roles and policies are of the account, in all of its regions
  policy      = data.aws_iam_policy_document.docker_hub.json
}

data "aws_iam_policy_document" "docker_hub" {
  statement {
    actions   = ["ecr:BatchImportUpstreamImage", "ecr:CreateRepository"]
    resources = ["arn:aws:ecr:${var.region}:${var.account}:repository/${var.name}-hub/*"]
  }
}

resource "aws_secretsmanager_secret" "docker_hub" {
  name_prefix = "ecr-pullthroughcache/${var.name}-" # ECR takes no other prefix; a name that was deleted stays taken for weeks
}

resource "aws_secretsmanager_secret_version" "docker_hub" {
  secret_id                = aws_secretsmanager_secret.docker_hub.id
  secret_string_wo_version = 1 # one more for each new token: what is written only is in no state to compare with

  secret_string_wo = jsonencode({
    username    = var.docker_hub_user
    accessToken = var.docker_hub_token
  })
}
