# cloudposse/label/null: whether something is made; names are put together from more than is read here.
variable "enabled" {
  type    = bool
  default = null
}

variable "context" {
  type    = any
  default = {}
}

locals {
  enabled = coalesce(var.enabled, try(var.context.enabled, null), true)
}

output "enabled" {
  value = local.enabled
}

output "context" {
  value = { enabled = local.enabled }
}
