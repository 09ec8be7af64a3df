variable "name" {
  description = "What the cluster and all that belongs to it are called."
  type        = string
}

variable "account" {
  description = "The AWS account that it is in; no other one is touched."
  type        = string
}

variable "region" {
  description = "The region."
  type        = string
}

variable "kubernetes_version" {
  description = "The minor version of Kubernetes."
  type        = string
}

variable "zones" {
  description = "The zones, each with its private and its public subnet."
  type = map(object({
    zone    = string
    private = string
    public  = string
  }))
}

variable "vpc_cidrs" {
  description = "The blocks of the VPC: the first one is its own, the others are added to it."
  type        = list(string)
}

variable "service_cidr" {
  description = "The range of Services; it is known inside of the cluster only."
  type        = string
}

variable "training_pools" {
  description = "The node groups for training: their zones, the most nodes of each, and the id of the capacity that is reserved for it."
  type = map(object({
    zones          = list(string)
    nodes          = number
    spot           = optional(bool, false)
    reservation    = optional(string)
    capacity_block = optional(bool, false)
  }))

  validation {
    condition     = alltrue([for pool in var.training_pools : pool.reservation == null || !pool.spot && length(pool.zones) == 1])
    error_message = "Reserved capacity is on demand and in one zone."
  }

  validation {
    condition     = alltrue([for pool in var.training_pools : pool.reservation != null || !pool.capacity_block])
    error_message = "A Capacity Block has an id: set reservation."
  }
}

variable "training_machines" {
  description = "Machine types of the training nodes; the first is bought on demand, all of them as spot."
  type        = list(string)
}

variable "api_ranges" {
  description = "Ranges from which the API server can be reached; without any, from the VPC only."
  type        = list(string)
}

variable "api_tunnel" {
  description = "Where a tunnel to the API server begins, as in README.md; empty where none is needed."
  type        = string
  default     = ""
}

variable "system_nodes" {
  description = "The most nodes for the cluster's own pods."
  type        = number
}

variable "checkpoints" {
  description = "The zone of the file system for checkpoints, and its capacity in GiB, which decides on its throughput."
  type = object({
    zone     = string
    capacity = number
  })

  validation {
    condition     = contains(keys(var.zones), var.checkpoints.zone)
    error_message = "The file system has to be in one of the zones."
  }
}

variable "docker_hub_user" {
  description = "The user of Docker Hub that the cache pulls as."
  type        = string
}

variable "docker_hub_token" {
  description = "An access token of that user; give it as TF_VAR_docker_hub_token, not in a file. It is in no state."
  type        = string
  sensitive   = true
  ephemeral   = true
}
