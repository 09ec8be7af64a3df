provider "aws" {
  region = "us-east-2"
}

resource "aws_vpc" "this" {
  cidr_block           = "10.80.0.0/16"
  enable_dns_hostnames = true
}

resource "aws_internet_gateway" "this" {
  vpc_id = aws_vpc.this.id
}

resource "aws_route_table" "public" {
  vpc_id = aws_vpc.this.id
  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.this.id
  }
}

resource "aws_subnet" "public" {
  count                   = 3
  vpc_id                  = aws_vpc.this.id
  cidr_block              = cidrsubnet(aws_vpc.this.cidr_block, 3, count.index)
  availability_zone       = element(["us-east-2a", "us-east-2b", "us-east-2c"], count.index)
  map_public_ip_on_launch = true
}

resource "aws_route_table_association" "public" {
  count          = 3
  subnet_id      = aws_subnet.public[count.index].id
  route_table_id = aws_route_table.public.id
}

resource "aws_eks_cluster" "speech" {
  name     = "speech"
  role_arn = "arn:aws:iam::123456789012:role/eks-cluster"
  version  = "1.34"
  vpc_config {
    subnet_ids = aws_subnet.public[*].id
  }
}

resource "aws_eks_node_group" "system" {
  cluster_name    = aws_eks_cluster.speech.name
  node_group_name = "system"
  node_role_arn   = "arn:aws:iam::123456789012:role/eks-node"
  subnet_ids      = aws_subnet.public[*].id
  instance_types  = ["m6i.large"]
  scaling_config {
    min_size     = 2
    desired_size = 2
    max_size     = 2
  }
}

resource "aws_eks_node_group" "gpu" {
  cluster_name    = aws_eks_cluster.speech.name
  node_group_name = "gpu"
  node_role_arn   = "arn:aws:iam::123456789012:role/eks-node"
  subnet_ids      = aws_subnet.public[*].id
  instance_types  = ["g4dn.12xlarge"]
  ami_type        = "AL2023_x86_64_NVIDIA"
  labels          = { pool = "gpu" }
  scaling_config {
    min_size     = 0
    desired_size = 20
    max_size     = 120
  }
}
