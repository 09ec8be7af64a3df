terraform {
  required_version = ">= 1.11" # from then on secrets need not be in the state

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 6.0"
    }
    helm = {
      source  = "hashicorp/helm"
      version = "~> 3.0"
    }
    kubernetes = {
      source  = "hashicorp/kubernetes"
      version = "~> 3.0"
    }
  }
}

provider "aws" {
  region              = var.region
  allowed_account_ids = [var.account]

  default_tags {
    tags = {
      cluster = var.name
    }
  }
}

provider "helm" {
  kubernetes = {
    host                   = coalesce(var.api_tunnel, module.eks.cluster_endpoint)
    tls_server_name        = trimprefix(module.eks.cluster_endpoint, "https://")
    cluster_ca_certificate = base64decode(module.eks.cluster_certificate_authority_data)

    exec = {
      api_version = "client.authentication.k8s.io/v1beta1"
      command     = "aws"
      args        = ["eks", "get-token", "--region", var.region, "--cluster-name", module.eks.cluster_name]
    }
  }
}

provider "kubernetes" {
  host                   = coalesce(var.api_tunnel, module.eks.cluster_endpoint)
  tls_server_name        = trimprefix(module.eks.cluster_endpoint, "https://")
  cluster_ca_certificate = base64decode(module.eks.cluster_certificate_authority_data)

  exec {
    api_version = "client.authentication.k8s.io/v1beta1"
    command     = "aws"
    args        = ["eks", "get-token", "--region", var.region, "--cluster-name", module.eks.cluster_name]
  }
}
