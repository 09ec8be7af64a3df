env            = "prod"
resource_group = "rg-prod"
train          = { min = 8, max = 40 }
