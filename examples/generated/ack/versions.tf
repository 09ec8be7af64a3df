terraform {
  required_version = ">= 1.9"

  required_providers {
    alicloud = {
      source  = "aliyun/alicloud"
      version = "~> 1.289"
    }
  }
}

provider "alicloud" {
  region = var.region
}

data "alicloud_account" "current" {}
