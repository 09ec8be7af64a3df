# terraform-aws-modules/vpc/aws//modules/vpc-endpoints 3 to 6: an interface endpoint takes an address in each subnet.
variable "create" {
  type    = bool
  default = true
}

variable "vpc_id" {
  type    = string
  default = null
}

variable "endpoints" {
  type    = any
  default = {}
}

variable "subnet_ids" {
  type    = list(string)
  default = []
}

resource "aws_vpc_endpoint" "this" {
  for_each = { for name, one in var.endpoints : name => one if var.create && try(one.create, true) }

  vpc_id            = var.vpc_id
  service_name      = try(each.value.service_endpoint, each.value.service_name, "com.amazonaws.region.${each.value.service}")
  vpc_endpoint_type = try(each.value.service_type, "Interface")
  subnet_ids        = try(each.value.service_type, "Interface") == "Interface" ? distinct(concat(var.subnet_ids, try(each.value.subnet_ids, []))) : null
}
