# A VPC as the arguments of a module say whose code is not there: what is not written here is not known.
variable "given" {
  type    = list(string)
  default = []
}

variable "name" {
  type = string
}

variable "cidr" {
  type = string
}

variable "private" {
  type = list(string)
}

variable "public" {
  type = list(string)
}

locals {
  # ranges, not names or ids of subnets that are there
  private = [for cidr in var.private : cidr if can(cidrhost(cidr, 0))]
  public  = contains(var.given, "public") ? [for cidr in var.public : cidr if can(cidrhost(cidr, 0))] : []
}

resource "aws_vpc" "this" {
  cidr_block = var.cidr

  tags = {
    Name = var.name
  }
}

resource "aws_subnet" "private" {
  count = length(local.private)

  vpc_id     = aws_vpc.this.id
  cidr_block = local.private[count.index]
}

resource "aws_subnet" "public" {
  count = length(local.public)

  vpc_id     = aws_vpc.this.id
  cidr_block = local.public[count.index]
}

output "vpc_id" {
  value = aws_vpc.this.id
}

output "private_subnets" {
  value = aws_subnet.private[*].id
}

output "private_subnet_ids" {
  value = aws_subnet.private[*].id
}

output "private_subnets_ids" {
  value = aws_subnet.private[*].id
}

output "public_subnets" {
  value = aws_subnet.public[*].id
}

output "public_subnet_ids" {
  value = aws_subnet.public[*].id
}
