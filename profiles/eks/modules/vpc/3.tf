# terraform-aws-modules/vpc/aws 3 to 6: subnets are lists paired with zones by index.
variable "create_vpc" {
  type    = bool
  default = true
}

variable "name" {
  type    = string
  default = ""
}

variable "cidr" {
  type    = string
  default = "10.0.0.0/16"
}

variable "use_ipam_pool" {
  type    = bool
  default = false
}

variable "secondary_cidr_blocks" {
  type    = list(string)
  default = []
}

variable "azs" {
  type    = list(string)
  default = []
}

variable "private_subnets" {
  type    = list(string)
  default = []
}

variable "public_subnets" {
  type    = list(string)
  default = []
}

variable "intra_subnets" {
  type    = list(string)
  default = []
}

variable "database_subnets" {
  type    = list(string)
  default = []
}

variable "map_public_ip_on_launch" {
  type    = bool
  default = false
}

variable "private_subnet_tags" {
  type    = map(string)
  default = {}
}

variable "enable_nat_gateway" {
  type    = bool
  default = false
}

variable "single_nat_gateway" {
  type    = bool
  default = false
}

variable "one_nat_gateway_per_az" {
  type    = bool
  default = false
}

variable "reuse_nat_ips" {
  type    = bool
  default = false
}

variable "external_nat_ip_ids" {
  type    = list(string)
  default = []
}

locals {
  longest   = max(length(var.private_subnets), length(var.public_subnets), length(var.database_subnets))
  nat_count = var.single_nat_gateway ? 1 : var.one_nat_gateway_per_az ? length(var.azs) : local.longest
}

variable "private_subnet_names" {
  type    = list(string)
  default = []
}

variable "private_subnet_suffix" {
  type    = string
  default = "private"
}

variable "public_subnet_names" {
  type    = list(string)
  default = []
}

variable "public_subnet_suffix" {
  type    = string
  default = "public"
}

variable "intra_subnet_names" {
  type    = list(string)
  default = []
}

variable "intra_subnet_suffix" {
  type    = string
  default = "intra"
}

variable "database_subnet_names" {
  type    = list(string)
  default = []
}

variable "database_subnet_suffix" {
  type    = string
  default = "database"
}

resource "aws_vpc" "this" {
  count = var.create_vpc ? 1 : 0

  cidr_block = var.use_ipam_pool ? null : var.cidr
  tags       = { Name = var.name }
}

resource "aws_vpc_ipv4_cidr_block_association" "this" {
  count = var.create_vpc ? length(var.secondary_cidr_blocks) : 0

  vpc_id     = aws_vpc.this[0].id
  cidr_block = var.secondary_cidr_blocks[count.index]
}

resource "aws_subnet" "private" {
  count = var.create_vpc ? length(var.private_subnets) : 0

  vpc_id            = aws_vpc.this[0].id
  cidr_block        = var.private_subnets[count.index]
  availability_zone = element(var.azs, count.index)
  tags              = merge({ Name = try(var.private_subnet_names[count.index], "${var.name}-${var.private_subnet_suffix}-${element(var.azs, count.index)}") }, var.private_subnet_tags)
}

resource "aws_subnet" "public" {
  count = var.create_vpc ? length(var.public_subnets) : 0

  vpc_id                  = aws_vpc.this[0].id
  cidr_block              = var.public_subnets[count.index]
  availability_zone       = element(var.azs, count.index)
  map_public_ip_on_launch = var.map_public_ip_on_launch
  tags                    = { Name = try(var.public_subnet_names[count.index], "${var.name}-${var.public_subnet_suffix}-${element(var.azs, count.index)}") }
}

resource "aws_subnet" "intra" {
  count = var.create_vpc ? length(var.intra_subnets) : 0

  vpc_id            = aws_vpc.this[0].id
  cidr_block        = var.intra_subnets[count.index]
  availability_zone = element(var.azs, count.index)
  tags              = { Name = try(var.intra_subnet_names[count.index], "${var.name}-${var.intra_subnet_suffix}-${element(var.azs, count.index)}") }
}

resource "aws_subnet" "database" {
  count = var.create_vpc ? length(var.database_subnets) : 0

  vpc_id            = aws_vpc.this[0].id
  cidr_block        = var.database_subnets[count.index]
  availability_zone = element(var.azs, count.index)
  tags              = { Name = try(var.database_subnet_names[count.index], "${var.name}-${var.database_subnet_suffix}-${element(var.azs, count.index)}") }
}

resource "aws_nat_gateway" "this" {
  count = var.create_vpc && var.enable_nat_gateway ? local.nat_count : 0

  subnet_id = element(aws_subnet.public[*].id, count.index)
  single    = var.single_nat_gateway # not of the provider: where a fix is written
  per_zone  = var.one_nat_gateway_per_az
  zones     = length(var.azs)
  public    = length(var.public_subnets)
  addresses = var.reuse_nat_ips ? length(var.external_nat_ip_ids) : length(var.azs)
}

output "vpc_id" {
  value = try(aws_vpc.this[0].id, null)
}

output "vpc_cidr_block" {
  value = try(aws_vpc.this[0].cidr_block, null)
}

output "azs" {
  value = var.azs
}

output "private_subnets" {
  value = aws_subnet.private[*].id
}

output "private_subnets_cidr_blocks" {
  value = compact(aws_subnet.private[*].cidr_block)
}

output "private_subnet_objects" {
  value = aws_subnet.private
}

output "public_subnets" {
  value = aws_subnet.public[*].id
}

output "public_subnets_cidr_blocks" {
  value = compact(aws_subnet.public[*].cidr_block)
}

output "intra_subnets" {
  value = aws_subnet.intra[*].id
}

output "intra_subnets_cidr_blocks" {
  value = compact(aws_subnet.intra[*].cidr_block)
}

output "database_subnets" {
  value = aws_subnet.database[*].id
}
