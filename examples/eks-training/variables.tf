variable "region" {
  type    = string
  default = "us-east-1"
}

variable "cpu_max_nodes" {
  description = "Nodes that prepare the data, spot"
  type        = number
}
