# One group of 1,000 nodes in subnets as small as those of many examples.
terraform {
  required_version = ">= 1.6"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 6.0"
    }
  }
}

resource "aws_eks_cluster" "train" {
  name     = "train"
  version  = "1.20"
  role_arn = "arn:aws:iam::123456789012:role/train-cluster"

  vpc_config {
    subnet_ids = aws_subnet.nodes[*].id
  }
}

resource "aws_vpc" "train" {
  cidr_block = "10.0.0.0/16"
}

resource "aws_subnet" "nodes" {
  count             = 3
  vpc_id            = aws_vpc.train.id
  availability_zone = "eu-west-1${["a", "b", "c"][count.index]}"
  cidr_block        = cidrsubnet(aws_vpc.train.cidr_block, 8, count.index)
}

resource "aws_eks_node_group" "train" {
  cluster_name    = aws_eks_cluster.train.name
  node_group_name = "train"
  node_role_arn   = "arn:aws:iam::123456789012:role/train-nodes"
  subnet_ids      = aws_subnet.nodes[*].id
  instance_types  = ["c6i.large"]

  scaling_config {
    min_size     = 0
    max_size     = 1000
    desired_size = 0
  }
}
