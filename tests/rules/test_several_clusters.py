"""Test manifests that may belong to several clusters or to none in this tree: judged where that makes no difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kcheck.config.config import Config, Environment
from kcheck.engine import rule_outcomes
from kcheck.engine.rule_evaluator import Evaluator
from kcheck.text.values import known, reason_of
from tests.conftest import indented, manifest, names

if TYPE_CHECKING:
    from kcheck.engine.linter import Result
    from kcheck.engine.rule import Rule
    from kcheck.text.findings import Finding, Undecided
    from tests.conftest import Check


pytestmark = pytest.mark.medium

POD = """
spec:
  {more}
  containers:
    - name: train
      image: quay.io/example/train:1
      resources: {{limits: {{nvidia.com/gpu: 8, cpu: 8, memory: 64Gi}}}}
"""
TAINT = 'taint {\n key = "team"\n value = "ml"\n effect = "NO_SCHEDULE"\n }'


def cluster(name: str, *, taint: str = "") -> str:
    """Return a root module with a cluster and a GPU pool, with a taint if one is given."""
    return f"""
    resource "google_container_cluster" "this" {{
      name                     = "{name}"
      location                 = "us-central1-a"
      remove_default_node_pool = true
      initial_node_count       = 1
    }}
    resource "google_container_node_pool" "gpu" {{
      cluster            = google_container_cluster.this.name
      location           = "us-central1-a"
      initial_node_count = 1
      autoscaling {{
        min_node_count = 0
        max_node_count = 10
      }}
      node_config {{
        machine_type = "a3-highgpu-8g"
        {taint}
      }}
    }}
    """


def job(more: str = "restartPolicy: Never") -> str:
    """Return a job of one pod with GPUs."""
    return manifest("batch/Job", f"spec:\n  template:\n    {indented(POD.format(more=more), 4)}")


def waiting(result: Result, rule: str) -> list[Undecided]:
    """Return the undecided checks of a rule."""
    return [check for check in result.undecided if check.rule == rule]


RULE = "gpu-without-toleration"


def test_a_rule_is_decided_if_no_cluster_has_the_problem(check: Check) -> None:
    result = check({"dev/main.tf": cluster("dev"), "prod/main.tf": cluster("prod"), "k8s/train.yaml": job()})
    assert not waiting(result, RULE)
    assert RULE not in names(result)


def test_a_rule_fires_if_every_cluster_has_the_problem(check: Check) -> None:
    tree = {
        "dev/main.tf": cluster("dev", taint=TAINT),
        "prod/main.tf": cluster("prod", taint=TAINT),
        "k8s/train.yaml": job(),
    }
    result = check(tree)
    assert not waiting(result, RULE)
    found = next(finding for finding in result.findings if finding.rule == RULE)
    assert any("true of all 2" in related.message for related in found.related)


def test_a_finding_of_several_clusters_is_built_once(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the others only the severity is worked out."""
    built: list[str] = []
    build = Evaluator.finding

    def finding(self: Evaluator, rule: Rule) -> Finding | None:
        built.append(rule.name)
        return build(self, rule)

    monkeypatch.setattr(Evaluator, "finding", finding)
    tree = {f"{name}/main.tf": cluster(name, taint=TAINT) for name in ("dev", "prod", "test")}
    assert RULE in names(check(tree | {"k8s/train.yaml": job()}))
    assert built.count(RULE) == 1


MACHINES = "apiVersion: machine.openshift.io/v1beta1\nkind: MachineSet\nmetadata: {name: gpu}\n"


@pytest.mark.parametrize("clusters", [("dev",), ("dev", "prod")])
def test_a_rule_is_undecided_if_an_unjudged_cluster_is_nearer(check: Check, clusters: tuple[str, ...]) -> None:
    tree = {f"{name}/main.tf": cluster(name, taint=TAINT) for name in clusters} | {"k8s/train.yaml": job()}
    assert RULE in names(check(tree | {"other/machines.yaml": MACHINES}))
    result = check(tree | {"k8s/machines.yaml": MACHINES})
    assert RULE not in names(result)
    assert "the cluster of k8s/machines.yaml, which is not judged" in waiting(result, RULE)[0].missing[0]


def test_manifests_next_to_openshift_manifests_run_on_no_other_platform(check: Check) -> None:
    route = "apiVersion: route.openshift.io/v1\nkind: Route\nmetadata: {name: notebook}\n"
    tree = {"gke/main.tf": cluster("dev", taint=TAINT), "ocp/train.yaml": job()}
    assert RULE in names(check(tree))
    assert RULE not in names(check(tree | {"ocp/route.yaml": route}))


def test_an_unjudged_cluster_counts_as_one_of_several(check: Check) -> None:
    """Folders per platform have a cluster and jobs each.

    Jobs in a folder without a cluster run on none of the others.
    """
    tree = {"gke/main.tf": cluster("dev", taint=TAINT), "gke/jobs/a.yaml": job(), "ocp/b.yaml": job()}

    def found(files: dict[str, str]) -> set[str]:
        return {one.span.source.path for one in check(files).findings if one.rule == RULE}

    assert found(tree) == {"gke/jobs/a.yaml", "ocp/b.yaml"}
    assert found(tree | {"other/machines.yaml": MACHINES}) == {"gke/jobs/a.yaml"}


@pytest.mark.parametrize(
    ("cluster_at", "job_at", "decided"),
    [
        ("samples/a/eks", "samples/b", False),  # a has jobs of its own
        ("samples/a", "samples/b", False),
        ("samples/a/eks", "samples/a/other", True),
        ("samples/a/eks", "samples", True),  # the folder of all
        ("samples", "samples/b", True),
    ],
)
def test_a_cluster_next_to_its_jobs_does_not_run_jobs_of_other_folders(
    check: Check, cluster_at: str, job_at: str, decided: bool
) -> None:
    tree = {
        f"{cluster_at}/main.tf": cluster("a", taint=TAINT),
        "other/main.tf": cluster("b"),
        f"{job_at}/b.yaml": job(),
    }
    result = check({**tree, "samples/a/jobs/a.yaml": job("restartPolicy: OnFailure")})
    found = [finding.span.source.path for finding in result.findings if finding.rule == RULE]
    assert (f"{job_at}/b.yaml" in found) is decided
    waits = {input_.cause.partition(";")[0] for one in waiting(result, RULE) for input_ in one.inputs}
    beside = (
        f"gke/{cluster_at}:google_container_cluster.this is beside jobs of samples/a/, so samples/b/ may run on another"
    )
    assert waits == (set() if decided else {beside})


@pytest.mark.parametrize("more", [{}, {"infra/check.yaml": job().replace("nvidia.com/gpu: 8, ", "")}])
def test_the_cluster_and_jobs_of_a_team_can_be_in_sibling_folders(check: Check, more: dict[str, str]) -> None:
    tree = {
        "a/infra/eks/main.tf": cluster("a", taint=TAINT),
        "b/infra/eks/main.tf": cluster("b"),
        "a/apps/train.yaml": job(),
    }
    result = check(tree | {f"a/{path}": text for path, text in more.items()})
    assert RULE in names(result)


DIFFERENT = {
    "dev/main.tf": cluster("dev"),
    "prod/main.tf": cluster("prod", taint=TAINT),
    "k8s/jobs/train.yaml": job(),
}


AZURE = """
    resource "azurerm_kubernetes_cluster" "this" {
      name = "azure"
      default_node_pool {
        name       = "system"
        node_count = 1
      }
    }
    """


@pytest.mark.parametrize(
    ("label", "home"),
    [
        ("cloud.google.com/gke-nodepool: gpu", "dev"),
        ("agentpool.kubernetes.azure.com/x: gpu", "azure"),
        ("eks.amazonaws.com/nodegroup: gpu", "no cluster of its cloud in this tree"),
        ("team: gpu", "k8s/ may run on azure or dev"),
    ],
)
def test_pods_run_on_a_cluster_of_the_cloud_whose_labels_they_select(check: Check, label: str, home: str) -> None:
    pods = job(f"nodeSelector: {{{label}}}")
    result = check({"aks/main.tf": AZURE, "gke/main.tf": cluster("dev"), "k8s/train.yaml": pods})
    (workload,) = result.world.inventory.workloads
    found = result.world.inventory.cluster_of.get(workload)
    said = result.world.inventory.unknown_cluster(workload).reason if found is None else found.display_name
    assert said.partition(";")[0] == home


@pytest.mark.parametrize(("provider", "home"), [("gce", "dev"), ("azure", "azure"), ("aws", None), ("exotic", None)])
def test_an_autoscaler_runs_on_a_cluster_of_its_cloud(check: Check, provider: str, home: str | None) -> None:
    text = f"command: [./cluster-autoscaler, --cloud-provider={provider}]"
    autoscaler = manifest(
        "apps/Deployment", f"spec:\n  template:\n    spec:\n      containers:\n        - name: a\n          {text}"
    )
    result = check({"aks/main.tf": AZURE, "gke/main.tf": cluster("dev"), "k8s/autoscaler.yaml": autoscaler})
    (own,) = (one for one in result.world.inventory.autoscalers if not one.managed)
    found = known(own.cluster)
    assert (found.display_name if found else None) == home


def test_an_undecided_check_names_the_clusters_that_differ(check: Check) -> None:
    result = check(DIFFERENT)
    assert RULE not in names(result)
    assert [check.missing for check in waiting(result, RULE)] == [
        ("k8s/ may run on dev or prod; choose with `manifests:` under `clusters:` in kcheck.yaml",)
    ]


def test_settings_decide_which_cluster_runs_the_manifests(check: Check) -> None:
    environment = Environment(root="prod", name="prod", manifests=("k8s/**",))
    result = check(DIFFERENT, Config(environments=(environment,)))
    assert RULE in names(result)


def test_only_a_few_of_many_clusters_are_named(check: Check) -> None:
    tree = {f"c{i}/main.tf": cluster(f"c{i}", taint=TAINT if i else "") for i in range(6)}
    result = check(tree | {"train.yaml": job()})
    assert "train.yaml may run on c0, c1, c2 or 3 others;" in waiting(result, RULE)[0].missing[0]


def test_clusters_with_one_name_show_their_roots(check: Check) -> None:
    tree = {"a/main.tf": cluster("x"), "b/main.tf": cluster("x", taint=TAINT), "train.yaml": job()}
    assert "train.yaml may run on a or b;" in waiting(check(tree), RULE)[0].missing[0]


AUTOSCALER = """
spec:
  template:
    spec:
      containers:
        - name: main
          image: registry.k8s.io/autoscaling/cluster-autoscaler:v1.32.1
          command: [./cluster-autoscaler, --max-nodes-total={most}]
"""
CAP = "autoscaler-cap-below-target"


@pytest.mark.parametrize(("most", "found"), [(100, False), (5, True)])
def test_an_autoscaler_without_a_cluster_is_judged_if_all_clusters_agree(check: Check, most: int, found: bool) -> None:
    """Each of two clusters grows to ten nodes."""
    text = manifest("apps/Deployment", AUTOSCALER.format(most=most))
    result = check({"dev/main.tf": cluster("dev"), "prod/main.tf": cluster("prod"), "k8s/autoscaler.yaml": text})
    assert not waiting(result, CAP)
    assert (CAP in names(result)) is found


def test_an_autoscaler_without_a_cluster_waits_for_the_cluster_size(check: Check) -> None:
    tree = {"autoscaler.yaml": manifest("apps/Deployment", AUTOSCALER.format(most=5))}
    assert [one.missing for one in waiting(check(tree), CAP)] == [("no cluster in this tree; set --nodes N",)]
    assert CAP in names(check(tree, Config(nodes={"": 100})))


def test_an_exhausted_budget_skips_the_same_jobs_for_all_checks(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    """All rules decide the first jobs; no rule that needs the cluster decides the last ones."""
    monkeypatch.setattr(rule_outcomes, "_BUDGET", 4)
    tree = {f"{name}/main.tf": cluster(name) for name in ("dev", "prod")}
    result = check(tree | {f"k8s/{i}.yaml": job() for i in range(3)})
    waits = {one.span.source.path for one in result.undecided if "may run on" in one.missing[0]}
    assert waits == {"k8s/2.yaml"}


# --- no cluster in the tree


@pytest.mark.parametrize(
    ("seconds", "decided"),
    [(10, True), (600, True), (601, False)],
)
def test_a_grace_period_is_decided_without_a_cluster_where_possible(check: Check, seconds: int, decided: bool) -> None:
    """The autoscaler's default is 600 seconds."""
    result = check({"train.yaml": job(f"terminationGracePeriodSeconds: {seconds}")})
    assert bool(waiting(result, "grace-period-cut")) is not decided


def test_a_spot_grace_period_is_decided_without_a_cluster_where_possible(check: Check) -> None:
    more = "terminationGracePeriodSeconds: 60\n  nodeSelector: {cloud.google.com/gke-spot: 'true'}"
    result = check({"train.yaml": job(more)})
    assert [check.missing for check in waiting(result, "grace-period-cut")] == [
        ("no cluster in this tree; check the manifests together with the Terraform of their cluster",)
    ]


SERVER = """
spec:
  template:
    spec:
      {more}
      volumes: [{{name: cache, emptyDir: {{}}}}]
      containers: [{{name: web, image: quay.io/example/web:1}}]
"""


@pytest.mark.parametrize(
    ("more", "decided"),
    [
        ("hostNetwork: false", True),
        ("tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists}]", True),
        ("tolerations: [{key: team, operator: Exists}]", False),
    ],
)
def test_pods_that_fit_no_pool_do_not_pin_nodes(check: Check, more: str, decided: bool) -> None:
    result = check({"web.yaml": manifest("apps/Deployment", SERVER.format(more=more))})
    assert bool(waiting(result, "local-storage-pins-nodes")) is not decided


def test_one_pod_cannot_conflict_over_ports(check: Check) -> None:
    more = "hostNetwork: true\n  dnsPolicy: ClusterFirstWithHostNet"
    tree = DIFFERENT | {
        "k8s/jobs/train.yaml": job(more).replace("image:", "ports: [{containerPort: 29500}]\n          image:")
    }
    assert not waiting(check(tree), "host-network-port-clash")


# --- environments of one root

EKS_ROOT = """
    variable "name" {
      type = string
    }
    variable "range" {
      type = string
    }
    resource "aws_subnet" "nodes" {
      cidr_block = var.range
      tags       = { "karpenter.sh/discovery" = "train" }
    }
    resource "aws_eks_cluster" "this" {
      name = var.name
    }
    """
NODE_POOL = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: gpu
spec:
  limits: {nodes: 400}
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: gpu}
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata:
  name: gpu
spec:
  amiSelectorTerms: [{alias: al2023@v20260101}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: train}}]
"""
IN_TERRAFORM = """
    resource "helm_release" "karpenter" {
      name  = "karpenter"
      chart = "karpenter"
    }
    resource "kubectl_manifest" "pools" {
      for_each  = toset(split("---", file("${path.module}/pools.yaml")))
      yaml_body = each.value
    }
    """


def environments(**ranges: str) -> dict[str, str]:
    """Return a root with a var file for each environment, which sets its own range of nodes."""
    files = {f"eks/{name}.tfvars": f'name = "{name}"\nrange = "{cidr}"\n' for name, cidr in ranges.items()}
    return {"eks/main.tf": EKS_ROOT, **files}


@pytest.mark.parametrize(
    "files",
    [{"eks/karpenter.tf": IN_TERRAFORM, "eks/pools.yaml": NODE_POOL}, {"k8s/pools.yaml": NODE_POOL}],
    ids=["in the root", "beside it"],
)
def test_a_karpenter_pool_is_judged_in_each_environment(check: Check, files: dict[str, str]) -> None:
    """400 p5 nodes fit into the /16 of prod, but not into the 251 addresses of dev."""
    result = check(environments(dev="10.0.0.0/24", prod="10.1.0.0/16") | files)
    owners = [known(pool.cluster) for pool in result.world.inventory.pools]
    assert sorted(owner.environment for owner in owners if owner) == ["dev", "prod"]
    (full,) = (one for one in result.findings if one.rule == "subnet-too-small")
    assert "10.0.0.0/24" in full.message
    tools = [known(result.world.autoscaling.tool(one)) for one in result.world.inventory.clusters]
    assert tools == ["karpenter", "karpenter"]


def test_manifests_in_a_folder_named_like_an_environment_belong_to_it(check: Check) -> None:
    result = check(environments(dev="10.0.0.0/24", prod="10.1.0.0/16") | {"k8s/prod/pools.yaml": NODE_POOL})
    (pool,) = result.world.inventory.pools
    owner = known(pool.cluster)
    assert owner is not None
    assert owner.environment == "prod"


def test_an_autoscaler_of_an_unknown_cluster_is_placed_at_its_manifest(check: Check) -> None:
    tree = {f"{name}/main.tf": EKS_ROOT + f'variable "{name}" {{}}\n' for name in ("a", "b")}
    result = check(tree | {"k8s/pools.yaml": NODE_POOL})
    why = [result.world.autoscaling.tool(one) for one in result.world.inventory.clusters]
    assert {reason_of(one).partition(";")[0] for one in why} == {
        "the cluster of karpenter is not known: k8s/ may run on a or b"
    }
    places = {one.origin.written.source.path for one in why if one.origin}
    assert places == {"k8s/pools.yaml"}


# --- destinations of Argo CD

APPLICATIONS = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata:
  name: apps
spec:
  generators:
    - {generators}
  template:
    spec:
      source: {{repoURL: https://example.com/repo.git, path: k8s}}
      destination: {destination}
"""
LIST = "list: {elements: [{cluster: dev, url: https://1.2.3.4}, {cluster: prod, url: https://5.6.7.8}]}"
ONE = "list: {elements: [{cluster: prod, url: https://5.6.7.8}]}"


@pytest.mark.parametrize(
    ("generators", "destination", "home"),
    [
        (ONE, "{name: '{{cluster}}'}", "prod"),
        (ONE, "{server: '{{.url}}'}", "prod"),
        (f"matrix: {{generators: [{{{ONE}}}, {{git: {{}}}}]}}", "{name: '{{ .cluster }}'}", "prod"),
        (LIST, "{name: '{{cluster}}'}", "ApplicationSet apps may run on dev or prod"),
        ("git: {}", "{name: prod}", "prod"),
        ("git: {}", "{server: https://kubernetes.default.svc}", "k8s/ may run on dev or prod"),
        (
            "clusters: {selector: {matchLabels: {tier: gpu}}}",
            "{name: '{{name}}'}",
            "ApplicationSet apps is sent to clusters with the labels tier=gpu, by no name of a cluster here",
        ),
        (
            "clusters: {}",
            "{server: '{{server}}'}",
            "ApplicationSet apps is sent to clusters that a generator finds, by no name of a cluster here",
        ),
        (
            "git: {}",
            "{server: https://1.2.3.4}",
            "ApplicationSet apps is sent to https://1.2.3.4, by no name of a cluster here",
        ),
    ],
)
def test_manifests_run_on_the_cluster_that_argo_cd_names(
    check: Check, generators: str, destination: str, home: str
) -> None:
    text = APPLICATIONS.format(generators=generators, destination=destination)
    result = check(
        {"a/main.tf": cluster("dev"), "b/main.tf": cluster("prod"), "k8s/train.yaml": job(), "argo.yaml": text}
    )
    (workload,) = result.world.inventory.workloads
    found = result.world.inventory.cluster_of.get(workload)
    said = result.world.inventory.unknown_cluster(workload).reason if found is None else known(found.name)
    assert str(said).partition(";")[0] == home


# --- clusters of other roots

APPLIED = """
    {more}
    data "google_container_cluster" "this" {{
      name     = {name}
      location = "us-central1-a"
    }}
    provider "kubernetes" {{
      host = "https://${{data.google_container_cluster.this.endpoint}}"
    }}
    resource "kubernetes_manifest" "train" {{
      manifest = yamldecode(file("${{path.module}}/train.yaml"))
    }}
    """


@pytest.mark.parametrize(
    ("name", "more", "home"),
    [
        ('"prod"', "", "prod"),
        ("var.name", 'variable "name" {\n default = "dev"\n }', "dev"),
        (
            "var.name",
            'variable "name" {}',
            "data.google_container_cluster.this asks for a cluster by name: var.name has no value",
        ),
        ('"other"', "", "apps/ may run on dev or prod"),
    ],
)
def test_applied_manifests_run_on_the_named_cluster_of_another_root(
    check: Check, name: str, more: str, home: str
) -> None:
    files = {"apps/main.tf": APPLIED.format(name=name, more=more), "apps/train.yaml": job()}
    result = check({"a/main.tf": cluster("dev"), "b/main.tf": cluster("prod")} | files)
    (workload,) = result.world.inventory.workloads
    found = result.world.inventory.cluster_of.get(workload)
    said = result.world.inventory.unknown_cluster(workload).reason if found is None else known(found.name)
    assert str(said).partition(";")[0] == home
