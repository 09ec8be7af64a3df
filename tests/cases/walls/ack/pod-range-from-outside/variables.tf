variable "pod_cidr" {
  type        = string
  description = "Must not overlap with the VPN; ask the network team"
}

variable "service_cidr" {
  type    = string
  default = "172.19.0.0/20"
}

variable "pools" {
  type = map(object({
    types = list(string)
    min   = number
    max   = number
  }))
  default = {
    base  = { types = ["ecs.g7.xlarge"], min = 3, max = 3 }
    train = { types = ["ecs.gn6v-c8g1.2xlarge"], min = 0, max = 150 }
  }
}
