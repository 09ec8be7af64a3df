variable "name" {
  description = "What the cluster and all that belongs to it are called."
  type        = string
}

variable "subscription_id" {
  description = "The subscription that it is in."
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

variable "network_cidr" {
  description = "The range of the virtual network."
  type        = string
}

variable "nodes_cidr" {
  description = "The range of the subnet of all nodes."
  type        = string
}

variable "api_cidr" {
  description = "The range of the subnet of the API server."
  type        = string
}

variable "lustre_cidr" {
  description = "The range of the subnet of the file system."
  type        = string
}

variable "lustre_capacity" {
  description = "The size of the file system in TiB, a multiple of 4."
  type        = number
}

variable "lustre_zone" {
  description = "The zone of the file system."
  type        = string
}

variable "pod_cidr" {
  description = "The range of pods; it is known inside of the cluster only."
  type        = string
}

variable "service_cidr" {
  description = "The range of Services; it is known inside of the cluster only."
  type        = string
}

variable "dns_service_ip" {
  description = "The address of DNS among the Services."
  type        = string
}

variable "nat_prefix_length" {
  description = "The length of the prefix of the public addresses that nodes leave by."
  type        = number
}

variable "training_machine" {
  description = "The machine type of the training nodes."
  type        = string
}

variable "training_pools" {
  description = "The node pools for training: their zones, and the most nodes of each."
  type = map(object({
    zones = list(string)
    nodes = number
  }))
}

variable "system_nodes" {
  description = "The most nodes for the cluster's own pods."
  type        = number
}

variable "registry_name" {
  description = "The name of the registry, unique in all of Azure."
  type        = string
}

variable "vault_name" {
  description = "The name of the Key Vault with the credentials for Docker Hub, unique in all of Azure."
  type        = string
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
