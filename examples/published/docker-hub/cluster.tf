# 50 fresh nodes behind one public address.
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
  count             = 2
  vpc_id            = aws_vpc.train.id
  availability_zone = "eu-west-1${["a", "b"][count.index]}"
  cidr_block        = cidrsubnet(aws_vpc.train.cidr_block, 2, count.index)
}

resource "aws_subnet" "public" {
  vpc_id            = aws_vpc.train.id
  availability_zone = "eu-west-1a"
  cidr_block        = cidrsubnet(aws_vpc.train.cidr_block, 8, 255)
}

resource "aws_internet_gateway" "train" {
  vpc_id = aws_vpc.train.id
}

resource "aws_eip" "out" {
  domain = "vpc"
}

resource "aws_nat_gateway" "out" {
  allocation_id = aws_eip.out.id
  subnet_id     = aws_subnet.public.id
}

resource "aws_route_table" "nodes" {
  vpc_id = aws_vpc.train.id

  route {
    cidr_block     = "0.0.0.0/0"
    nat_gateway_id = aws_nat_gateway.out.id
  }
}

resource "aws_route_table_association" "nodes" {
  count          = 2
  subnet_id      = aws_subnet.nodes[count.index].id
  route_table_id = aws_route_table.nodes.id
}

resource "aws_eks_node_group" "train" {
  cluster_name    = aws_eks_cluster.train.name
  node_group_name = "train"
  node_role_arn   = "arn:aws:iam::123456789012:role/train-nodes"
  subnet_ids      = aws_subnet.nodes[*].id
  instance_types  = ["m5.large"]

  scaling_config {
    min_size     = 0
    max_size     = 50
    desired_size = 0
  }
}
