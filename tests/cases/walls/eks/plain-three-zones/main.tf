provider "aws" {
  region = "eu-west-1"
}

locals {
  zones = {
    a = "10.20.0.0/22"
    b = "10.20.4.0/22"
    c = "10.20.8.0/22"
  }
  account = "arn:aws:iam::123456789012:role"
}

resource "aws_vpc" "ml" {
  cidr_block = "10.20.0.0/16"
}

resource "aws_subnet" "nodes" {
  for_each          = local.zones
  vpc_id            = aws_vpc.ml.id
  cidr_block        = each.value
  availability_zone = "eu-west-1${each.key}"
}

resource "aws_eks_cluster" "ml" {
  name     = "ml"
  role_arn = "${local.account}/eks-cluster"
  version  = "1.34"
  vpc_config {
    subnet_ids = values(aws_subnet.nodes)[*].id
  }
}

resource "aws_eks_node_group" "system" {
  cluster_name    = aws_eks_cluster.ml.name
  node_group_name = "system"
  node_role_arn   = "${local.account}/eks-node"
  subnet_ids      = values(aws_subnet.nodes)[*].id
  instance_types  = ["m6i.large"]
  scaling_config {
    min_size     = 3
    desired_size = 3
    max_size     = 3
  }
}

resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.ml.name
  node_group_name = "gpu"
  node_role_arn   = "${local.account}/eks-node"
  subnet_ids      = values(aws_subnet.nodes)[*].id
  instance_types  = ["g5.12xlarge"]
  ami_type        = "AL2023_x86_64_NVIDIA"
  labels          = { pool = "gpu" }
  scaling_config {
    min_size     = 0
    desired_size = 6
    max_size     = 60
  }
  taint {
    key    = "nvidia.com/gpu"
    value  = "true"
    effect = "NO_SCHEDULE"
  }
}
