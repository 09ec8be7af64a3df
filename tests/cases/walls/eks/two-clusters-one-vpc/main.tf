provider "aws" {
  region = "eu-north-1"
}

locals {
  clusters = {
    prod     = { min = 12, desired = 12, max = 12 }
    research = { min = 0, desired = 4, max = 60 }
  }
}

resource "aws_vpc" "shared" {
  cidr_block = "172.16.0.0/20"
}

resource "aws_subnet" "a" {
  vpc_id            = aws_vpc.shared.id
  cidr_block        = "172.16.0.0/22"
  availability_zone = "eu-north-1a"
}

resource "aws_subnet" "b" {
  vpc_id            = aws_vpc.shared.id
  cidr_block        = "172.16.4.0/22"
  availability_zone = "eu-north-1b"
}

resource "aws_eks_cluster" "this" {
  for_each = local.clusters
  name     = each.key
  role_arn = "arn:aws:iam::123456789012:role/eks-cluster"
  version  = "1.33"
  vpc_config {
    subnet_ids = [aws_subnet.a.id, aws_subnet.b.id]
  }
}

resource "aws_eks_node_group" "gpu" {
  for_each        = local.clusters
  cluster_name    = aws_eks_cluster.this[each.key].name
  node_group_name = "gpu"
  node_role_arn   = "arn:aws:iam::123456789012:role/eks-node"
  subnet_ids      = [aws_subnet.a.id, aws_subnet.b.id]
  instance_types  = ["g5.4xlarge"]
  ami_type        = "AL2023_x86_64_NVIDIA"
  scaling_config {
    min_size     = each.value.min
    desired_size = each.value.desired
    max_size     = each.value.max
  }
}
