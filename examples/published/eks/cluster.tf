# 1,000 nodes for a job of 10 minutes on EKS, as in 2021: groups of at most 450 nodes, and an autoscaler of one's own.
terraform {
  required_version = ">= 1.6"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 6.0"
    }
    helm = {
      source  = "hashicorp/helm"
      version = "~> 3.0"
    }
  }
}

variable "autoscaler_flags" {
  description = "Flags of the cluster autoscaler; without any it has its defaults"
  type        = map(string)
  default     = {}
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
  cidr_block        = cidrsubnet(aws_vpc.train.cidr_block, 2, count.index)
}

resource "aws_eks_node_group" "train" {
  count           = 4
  cluster_name    = aws_eks_cluster.train.name
  node_group_name = "train-${count.index}"
  node_role_arn   = "arn:aws:iam::123456789012:role/train-nodes"
  subnet_ids      = aws_subnet.nodes[*].id
  instance_types  = ["m5.large"]

  scaling_config {
    min_size     = 0
    max_size     = 250
    desired_size = 0
  }
}

resource "helm_release" "autoscaler" {
  name       = "cluster-autoscaler"
  namespace  = "kube-system"
  repository = "https://kubernetes.github.io/autoscaler"
  chart      = "cluster-autoscaler"
  version    = "9.9.2"

  values = [yamlencode({
    autoDiscovery = { clusterName = aws_eks_cluster.train.name }
    awsRegion     = "eu-west-1"
    image         = { tag = "v1.20.0" }
    extraArgs     = var.autoscaler_flags
  })]
}
