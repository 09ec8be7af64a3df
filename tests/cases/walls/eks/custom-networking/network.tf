provider "aws" {
  region = "eu-central-1"
}

variable "zones" {
  type = map(object({ nodes = string, pods = string }))
}

resource "aws_vpc" "lab" {
  cidr_block = "10.7.0.0/22"
}

resource "aws_vpc_ipv4_cidr_block_association" "pods" {
  vpc_id     = aws_vpc.lab.id
  cidr_block = "100.64.0.0/16"
}

resource "aws_subnet" "nodes" {
  for_each          = var.zones
  vpc_id            = aws_vpc.lab.id
  cidr_block        = each.value.nodes
  availability_zone = each.key
}

resource "aws_subnet" "pods" {
  for_each          = var.zones
  vpc_id            = aws_vpc_ipv4_cidr_block_association.pods.vpc_id
  cidr_block        = each.value.pods
  availability_zone = each.key
}
