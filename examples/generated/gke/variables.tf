variable "name" {
  description = "What the cluster and all that belongs to it are called."
  type        = string
}

variable "project" {
  description = "The Google Cloud project that it is in."
  type        = string
}

variable "region" {
  description = "The region."
  type        = string
}

variable "zones" {
  description = "The zones of the region that have the machines."
  type        = list(string)
}

variable "kubernetes_version" {
  description = "The minor version of Kubernetes that the control plane has at least."
  type        = string
}

variable "node_cidr" {
  description = "The range of the nodes."
  type        = string
}

variable "pod_cidr" {
  description = "The range of the pods, of which every node takes a block."
  type        = string
}

variable "service_cidr" {
  description = "The range of Services."
  type        = string
}

variable "gpu_cidr" {
  description = "The range of the networks between GPUs, which each have a part of it."
  type        = string
}

variable "storage_cidr" {
  description = "The range of Managed Lustre, which Google's network has in a peering."
  type        = string
}

variable "nat_addresses" {
  description = "The public addresses that nodes share on their way out."
  type        = number
}

variable "training_machines" {
  description = "What machines of each type have; the first type is bought on demand."
  type = map(object({
    accelerator = string
    gpus        = number
    local_ssds  = number
    disk_type   = string
    disk_size   = number
  }))
}

variable "training_pools" {
  description = "The node pools for training: their zones, their machine type, and the most nodes of each."
  type = map(object({
    zones   = list(string)
    machine = string
    nodes   = number
    spot    = optional(bool, false)
  }))
}

variable "reservations" {
  description = "The reservations that on-demand pools take their nodes from, by zone: a name, or projects/PROJECT/reservations/NAME."
  type        = map(string)
  default     = {}
}

variable "system_nodes" {
  description = "The most nodes for the cluster's own pods."
  type        = number
}

variable "quota_contact" {
  description = "The mail address that Google answers to when quotas are asked for; none are without one."
  type        = string
  default     = ""
}

variable "docker_hub_user" {
  description = "The user of Docker Hub that the cache pulls as; without one it is a stranger, with fewer pulls."
  type        = string
  default     = ""
}

variable "docker_hub_token" {
  description = "An access token of that user; give it as TF_VAR_docker_hub_token, not in a file. It is in no state."
  type        = string
  sensitive   = true
  ephemeral   = true
  default     = ""
}
