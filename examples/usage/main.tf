terraform {
  required_version = ">= 1.6"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 6.0"
    }
  }
}

provider "aws" {
  region = "us-east-1"
}

resource "aws_vpc" "main" {
  cidr_block = "10.0.0.0/16"
}

resource "aws_subnet" "nodes" {
  vpc_id            = aws_vpc.main.id
  availability_zone = "us-east-1a"
  cidr_block        = "10.0.0.0/18"
}

resource "aws_eks_cluster" "main" {
  name     = "ml"
  role_arn = "arn:aws:iam::123456789012:role/cluster"
  version  = "1.35"

  vpc_config {
    subnet_ids = [aws_subnet.nodes.id]
  }
}

resource "aws_eks_node_group" "general" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "general"
  node_role_arn   = "arn:aws:iam::123456789012:role/node"
  subnet_ids      = [aws_subnet.nodes.id]
  instance_types  = ["m6i.4xlarge"]

  scaling_config {
    min_size     = 4
    desired_size = 4
    max_size     = 8
  }
}

resource "aws_eks_node_group" "train" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "train"
  node_role_arn   = "arn:aws:iam::123456789012:role/node"
  subnet_ids      = [aws_subnet.nodes.id]
  instance_types  = ["p5.48xlarge"]

  scaling_config {
    min_size     = 0
    desired_size = 0
    max_size     = 3
  }
}

resource "aws_eks_node_group" "research" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "research"
  node_role_arn   = "arn:aws:iam::123456789012:role/node"
  subnet_ids      = [aws_subnet.nodes.id]
  instance_types  = ["p4de.24xlarge"]

  scaling_config {
    min_size     = 1
    desired_size = 1
    max_size     = 1
  }
}

resource "aws_eks_node_group" "inference" {
  cluster_name    = aws_eks_cluster.main.name
  node_group_name = "inference"
  node_role_arn   = "arn:aws:iam::123456789012:role/node"
  subnet_ids      = [aws_subnet.nodes.id]
  instance_types  = ["g5.48xlarge"]

  scaling_config {
    min_size     = 4
    desired_size = 4
    max_size     = 4
  }
}
