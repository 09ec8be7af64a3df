variable "env" {
  type = string
}

variable "location" {
  type    = string
  default = "southcentralus"
}

variable "resource_group" {
  type = string
}

variable "node_subnet_id" {
  type        = string
  description = "Given by the pipeline of the network team"
}

variable "train" {
  type = object({ min = number, max = number })
}
