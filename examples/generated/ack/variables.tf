variable "name" {
  description = "What the cluster and all that belongs to it are called."
  type        = string
}

variable "account" {
  description = "The Alibaba Cloud account that it is in; no other one is touched."
  type        = string
}

variable "region" {
  description = "The region."
  type        = string
}

variable "kubernetes_version" {
  description = "The version of Kubernetes in full, as ACK has it."
  type        = string
}

variable "vpc_cidr" {
  description = "The range of the VPC; it can be joined by others later."
  type        = string
}

variable "zones" {
  description = "The zones, each with the range of its nodes and the one of its pods."
  type = map(object({
    zone  = string
    nodes = string
    pods  = string
  }))
}

variable "service_cidr" {
  description = "The range of Services; it is known inside of the cluster only."
  type        = string
}

variable "training_machines" {
  description = "Machine types of the training nodes; the first is bought on demand, all of them as spot."
  type        = list(string)
}

variable "training_pools" {
  description = "The node pools for training: their zones, and the most nodes of each."
  type = map(object({
    zones = list(string)
    nodes = number
    spot  = optional(bool, false)
  }))
}

variable "upgrade_percent" {
  description = "How much of a training pool is upgraded at a time."
  type        = number
}

variable "system_nodes" {
  description = "Nodes for the cluster's own pods."
  type        = number
}

variable "docker_hub_images" {
  description = "What the registry keeps a copy of: NAMESPACE/IMAGE of Docker Hub, its own images in library, and a pattern of their tags."
  type        = map(string)
}
