resource "azurerm_container_registry" "main" {
  name                = var.registry_name
  location            = azurerm_resource_group.main.location
  resource_group_name = azurerm_resource_group.main.name
  sku                 = "Premium" # the tier whose throughput is made for many nodes that pull at once

  zone_redundancy_enabled = true # a zone that fails takes no images of other zones with it
}

# The identity that AKS makes for the kubelets, with this name.
data "azurerm_user_assigned_identity" "kubelet" {
  name                = "${azurerm_kubernetes_cluster.main.name}-agentpool"
  resource_group_name = azurerm_kubernetes_cluster.main.node_resource_group
}

resource "azurerm_role_assignment" "pull" {
  scope                            = azurerm_container_registry.main.id
  role_definition_name             = "AcrPull"
  principal_id                     = data.azurerm_user_assigned_identity.kubelet.principal_id
  skip_service_principal_aad_check = true
}

# Docker Hub allows 100 pulls in six hours from an address, which 1,000 nodes behind 4 addresses use up within
# seconds. train57be9df9.azurecr.io/docker-hub pulls each image once, with the account below.
resource "azurerm_container_registry_cache_rule" "docker_hub" {
  name                  = "dockerhub"
  container_registry_id = azurerm_container_registry.main.id
  source_repo           = "docker.io/*"
  target_repo           = "docker-hub/*"
  credential_set_id     = azurerm_container_registry_credential_set.docker_hub.id

  depends_on = [azurerm_key_vault_access_policy.registry]
}

resource "azurerm_container_registry_credential_set" "docker_hub" {
  name                  = "dockerhub"
  container_registry_id = azurerm_container_registry.main.id
  login_server          = "docker.io"

  identity {
    type = "SystemAssigned"
  }

  authentication_credentials {
    username_secret_id = azurerm_key_vault_secret.docker_hub_user.versionless_id
    password_secret_id = azurerm_key_vault_secret.docker_hub_token.versionless_id
  }
}

data "azurerm_client_config" "current" {}

# Access policies: a role that is assigned takes minutes to work, and the secrets are written at once.
resource "azurerm_key_vault" "main" {
  name                       = var.vault_name
  location                   = azurerm_resource_group.main.location
  resource_group_name        = azurerm_resource_group.main.name
  tenant_id                  = data.azurerm_client_config.current.tenant_id
  sku_name                   = "standard"
  rbac_authorization_enabled = false
}

resource "azurerm_key_vault_access_policy" "terraform" {
  key_vault_id       = azurerm_key_vault.main.id
  tenant_id          = data.azurerm_client_config.current.tenant_id
  object_id          = data.azurerm_client_config.current.object_id
  secret_permissions = ["Get", "Set", "Delete", "Purge", "Recover"]
}

resource "azurerm_key_vault_access_policy" "registry" {
  key_vault_id       = azurerm_key_vault.main.id
  tenant_id          = azurerm_container_registry_credential_set.docker_hub.identity[0].tenant_id
  object_id          = azurerm_container_registry_credential_set.docker_hub.identity[0].principal_id
  secret_permissions = ["Get"]
}

resource "azurerm_key_vault_secret" "docker_hub_user" {
  name         = "docker-hub-user"
  value        = var.docker_hub_user
  content_type = "text/plain"
  key_vault_id = azurerm_key_vault.main.id

  depends_on = [azurerm_key_vault_access_policy.terraform]
}

resource "azurerm_key_vault_secret" "docker_hub_token" {
  name             = "docker-hub-token"
  value_wo         = var.docker_hub_token
  content_type     = "text/plain"
  value_wo_version = 1 # one more for each new token: what is written only is in no state to compare with
  key_vault_id     = azurerm_key_vault.main.id

  depends_on = [azurerm_key_vault_access_policy.terraform]
}
