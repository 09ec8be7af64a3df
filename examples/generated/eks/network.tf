module "vpc" {
  source  = "terraform-aws-modules/vpc/aws"
  version = "~> 6.0"

  name                  = var.name
  cidr                  = var.vpc_cidrs[0]
  secondary_cidr_blocks = slice(var.vpc_cidrs, 1, length(var.vpc_cidrs))

  azs             = [for key in sort(keys(var.zones)) : var.zones[key].zone]
  private_subnets = [for key in sort(keys(var.zones)) : var.zones[key].private]
  public_subnets  = [for key in sort(keys(var.zones)) : var.zones[key].public]

  # One gateway a zone: no traffic between zones to get out, and a zone that fails takes no other one with it.
  enable_nat_gateway     = true
  one_nat_gateway_per_az = true

  public_subnet_tags = {
    "kubernetes.io/role/elb" = "1"
  }

  private_subnet_tags = {
    "kubernetes.io/role/internal-elb" = "1"
  }
}

# The layers of images in ECR are in S3: pulls by 1,000 nodes at once stay off the NAT gateways, whose gigabytes cost.
resource "aws_vpc_endpoint" "s3" {
  vpc_id            = module.vpc.vpc_id
  service_name      = "com.amazonaws.${var.region}.s3"
  vpc_endpoint_type = "Gateway"
  route_table_ids   = module.vpc.private_route_table_ids
}
