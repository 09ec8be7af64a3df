variable "project" {
  type    = string
  default = "training"
}

variable "zone" {
  type    = string
  default = "us-central1-a"
}

variable "cpu_max_nodes" {
  description = "Nodes that prepare the data, spot"
  type        = number
  default     = 1500
}
