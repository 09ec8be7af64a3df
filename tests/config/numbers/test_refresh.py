"""Test that scripts/refresh derives numbers from the Git repositories of their sources."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

pytestmark = pytest.mark.medium

IDENTITY = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false"]


def committed(repository: Path, tag: str, files: Mapping[str, str]) -> None:
    """Commit files and tag the commit."""
    if not (repository / ".git").exists():
        repository.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(repository)], check=True)
    for name, text in files.items():
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for arguments in (["add", "."], ["commit", "-qm", tag, "--allow-empty"], ["tag", tag]):
        subprocess.run(["git", "-C", str(repository), *IDENTITY, *arguments], check=True)


def refreshed(tmp_path: Path, part: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run scripts/refresh on the profiles in a folder, and return the finished process."""
    command = [sys.executable, str(ROOT / "scripts" / "refresh"), str(tmp_path / "gits"), part, *options]
    command += ["--profiles", str(tmp_path / "profiles")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def flag_file(tmp_path: Path) -> Path:
    path = tmp_path / "profiles" / "any" / "flags.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("# Ours.\nchecked: 2026-01-01\nflags:\n  old: {type: int, default: 11, successor: new}\n")
    return path


CODE = "cluster-autoscaler/main.go"
MAIN = """
var (
    // gone = flag.Bool("commented", false, "https://a.b")
    old = flag.Int("old", 10, "see https://a.b, (c)")
    %s
)
"""


def test_flags_are_read_from_tags(tmp_path: Path, flag_file: Path) -> None:
    repository = tmp_path / "gits" / "kubernetes+autoscaler"
    steps = {
        "1.15.0": "",
        "1.16.0": "",
        "1.16.1": 'wait = flag.Duration("wait", 10*time.Minute, "a")',
        "1.17.0": 'wait = flag.Duration("wait", config.DefaultWait, "a"); multiStringFlag("many", "b")',
    }
    for version, line in steps.items():
        files = {
            CODE: MAIN % line,
            "cluster-autoscaler/config/const.go": "const (\n\tDefaultWait = 90 * time.Second\n)",
        }
        committed(repository, f"cluster-autoscaler-{version}", files)
    text = 'var new = fs.StringVar(&p.o.New, "new", "x", "a")\nvar o = fs.Float64Var(&p.o.Part, "part", 0.5, "a")'
    committed(repository, "cluster-autoscaler-1.18.0", {CODE: text})
    found = refreshed(tmp_path, "flags", "--write", "--date", "2026-11-22")
    assert found.returncode == 1, found.stderr
    assert flag_file.read_text().splitlines() == [
        "# Ours.",
        "checked: 2026-11-22",
        "flags:",
        "  many: {type: list, default: [], first: 1.17.0, removed: 1.18.0}",
        "  new: {type: string, default: x, first: 1.18.0}",
        "  old: {type: int, default: 10, removed: 1.18.0, successor: new}",
        "  part: {type: float, default: 0.5, first: 1.18.0}",
        "  wait: {type: duration, default: 90s, before: {17: 10m}, first: 1.16.1, removed: 1.18.0}",
    ]
    again = refreshed(tmp_path, "flags")
    assert (again.returncode, again.stdout) == (1, "")  # of the two repositories one is not there
    assert again.stderr.startswith("flags: no git directory of kubernetes-sigs/cluster-autoscaler in ")


@pytest.mark.parametrize("pin", ["commit", "v0.37.0"])
def test_autoscalers_built_on_the_core_have_the_flags_of_the_core(pin: str, tmp_path: Path, flag_file: Path) -> None:
    repository, core = tmp_path / "gits" / "autoscaler.git", tmp_path / "gits" / "cluster-autoscaler"
    committed(core, "v0.37.0", {"pkg/config/flags/flags.go": 'var o = fs.IntVar(&p.o.Old, "old", 12, "a")'})
    commit = subprocess.run(["git", "-C", str(core), "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    committed(core, "v0.38.0", {"pkg/config/flags/flags.go": 'var o = fs.IntVar(&p.o.New, "new", 1, "a")'})
    committed(repository, "cluster-autoscaler-1.36.0", {CODE: MAIN % ""})
    version = f"v0.0.0-20260821162314-{commit.stdout[:12]}" if pin == "commit" else pin
    for tag, text in (("1.37.0", version), ("1.37.1", "v0.0.0-20260821162314-0123456789ab")):
        modules = {"cluster-autoscaler/go.mod": f"require (\n\tsigs.k8s.io/cluster-autoscaler {text}\n)\n"}
        committed(repository, f"cluster-autoscaler-{tag}", modules | {CODE: "package main\n"})
    found = refreshed(tmp_path, "flags", "--write")
    assert found.stderr == (
        "flags: cluster-autoscaler-1.37.1:cluster-autoscaler/go.mod has the flags of kubernetes-sigs/cluster-autoscaler at "
        "0123456789ab, which is not here\n"
    )
    assert flag_file.read_text().splitlines()[-2:] == [
        "  new: {type: int, default: 1, first: 1.38.0}",
        "  old: {type: int, default: 12, before: {37: 10}, first: 1.36.0, removed: 1.38.0, successor: new}",
    ]


def test_refresh_without_write_changes_nothing(tmp_path: Path, flag_file: Path) -> None:
    before = flag_file.read_bytes()
    repository = tmp_path / "gits" / "autoscaler.git"
    committed(repository, "cluster-autoscaler-1.15.0", {CODE: MAIN % ""})
    found = refreshed(tmp_path, "flags")
    assert found.stdout.splitlines()[-2:] == [
        "-  old: {type: int, default: 11, successor: new}",
        "+  old: {type: int, default: 10, successor: new}",
    ]
    assert flag_file.read_bytes() == before


def test_flags_of_a_source_that_is_missing_stay(tmp_path: Path, flag_file: Path) -> None:
    later = "  later: {type: bool, default: false, first: 1.16.0}\n"
    ours = flag_file.read_text().replace("11, successor", "10, removed: 1.16.0, successor")
    flag_file.write_text(ours.replace("flags:\n", f"flags:\n{later}"))
    before = flag_file.read_text()
    committed(tmp_path / "gits" / "kubernetes+autoscaler", "cluster-autoscaler-1.15.0", {CODE: MAIN % ""})
    found = refreshed(tmp_path, "flags", "--write")
    assert "what comes next is not read" in found.stderr
    assert (found.stdout, flag_file.read_text()) == ("", before)


def test_flags_of_a_release_after_the_copy_stay(tmp_path: Path, flag_file: Path) -> None:
    released = "  later: {type: bool, default: false, first: 1.16.0}\n"
    flag_file.write_text(flag_file.read_text().replace("flags:\n", f"flags:\n{released}"))
    repository = tmp_path / "gits" / "kubernetes+autoscaler"
    committed(repository, "cluster-autoscaler-1.15.0", {CODE: MAIN % ""})
    subprocess.run(["git", "-C", str(repository), "branch", "cluster-autoscaler-release-1.16"], check=True)
    refreshed(tmp_path, "flags", "--write")
    assert released in flag_file.read_text()
    committed(repository, "cluster-autoscaler-1.16.0", {})
    refreshed(tmp_path, "flags", "--write")
    assert released not in flag_file.read_text()


def test_a_missing_source_is_named(tmp_path: Path, flag_file: Path) -> None:
    (tmp_path / "gits").mkdir()
    found = refreshed(tmp_path, "flags")
    assert found.stderr.startswith("flags: no git directory of kubernetes/autoscaler in ")
    assert (found.returncode, found.stdout) == (1, "")


ENI = """	"c5.large": {
		ENILimit:                3,
		IPv4Limit:               %s,
		NetworkCards: []NetworkCard{
			{
				MaximumNetworkInterfaces: 3,
"""
EC2 = "cluster-autoscaler/cloudprovider/aws/ec2_instance_types.go"
DOCS = "website/content/en/preview/reference/instance-types.md"
CNI, SOURCE = "amazon-vpc-cni-k8s", "pkg/vpc/vpc_ip_resource_limit.go"


@pytest.mark.slow
@pytest.mark.parametrize(("addresses", "changed"), [(10, False), (20, True)])
def test_interface_counts_are_read_from_the_cni_source(addresses: int, changed: bool, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "profiles", tmp_path / "profiles")
    committed(tmp_path / "gits" / CNI, "v1", {SOURCE: ENI % addresses})
    committed(tmp_path / "gits" / "autoscaler", "v1", {EC2: ""})
    before = refreshed(tmp_path, "machines")
    assert before.stdout == ""  # one of three sources is not there
    assert "eks: no git directory of aws/karpenter-provider-aws in " in before.stderr
    committed(tmp_path / "gits" / "karpenter-provider-aws", "v1", {DOCS: "# Types\n"})
    found = refreshed(tmp_path, "machines")
    lines = [line for line in found.stdout.splitlines() if line.startswith("+") and "large" in line]
    assert [line.split(",")[0] for line in lines] == (["+  c5: large 3x20"] if changed else [])
    assert f"/{SOURCE}" in found.stdout  # the commit of the source


AZURE = "cluster-autoscaler/cloudprovider/azure/azure_instance_types.go"
SIZE = """	"Standard_{name}": {{
		InstanceType: "Standard_{name}",
		SkuFamily:    "{family}",
		VCPU:         {vcpus},
		MemoryMb:     {memory},
		GPU:          {gpus},
	}},
"""


@pytest.mark.slow
def test_machine_sizes_are_read_from_the_autoscaler_source(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "profiles", tmp_path / "profiles")
    sizes = [
        ("ND512_XL_v9", "standardNDXLFamily", 512, 2097152, 8),  # new
        ("NP10s", "standardNPSFamily", 10, 172032, 1),  # known better
        ("D8s_v5", "standardDSv5Family", 8, 32768, 0),  # as it is
        ("Q9_v1", "standardQFamily", 7, 1024, 0),  # of no pattern
    ]
    keys = ("name", "family", "vcpus", "memory", "gpus")
    text = "".join(SIZE.format(**dict(zip(keys, size, strict=True))) for size in sizes)
    committed(tmp_path / "gits" / "autoscaler", "cluster-autoscaler-1.15.0", {AZURE: text})
    found = refreshed(tmp_path, "machines")
    added = [line for line in found.stdout.splitlines() if line.startswith("+  ")]
    assert added == ["+  standardNDXLFamily: ND512_XL_v9 512x8", '+  "ND{n}_XL_v9": ND512_XL_v9 2097152']
    assert [line for line in found.stderr.splitlines() if "Q9" in line] == [
        "aks: Q9_v1 has 7 vCPUs; add a pattern of standardQFamily"
    ]


PRICES = "pkg/providers/pricing/"
AMAZON = """// generated at 2026-12-24T13:44:30Z for us-east-1
	"us-east-1": {
		// p5 family
		"p5.48xlarge": 50.0405, "p5.4xlarge": 6.880000, "c5.large": 0.085, "p9.large": 1,
		"g4ad.xlarge": 0.37853,
	},
"""


def test_prices_are_read_from_generated_karpenter_files(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "profiles", tmp_path / "profiles")
    committed(tmp_path / "gits" / "karpenter-provider-aws", "v1", {f"{PRICES}zz_generated.pricing_aws.go": AMAZON})
    regions = {"us-central1": {"on_demand": {"a2-highgpu-1g": 3.5}}, "us-east4": {"spot": {"a3-megagpu-8g": 20}}}
    google = {f"{PRICES}initial-prices.json": json.dumps({"prices": regions})}
    committed(tmp_path / "gits" / "karpenter-provider-gcp", "v1", google)
    found = refreshed(tmp_path, "prices")
    added = [
        line.split(",")[0] for line in found.stdout.splitlines() if line.startswith("+ ") or "+source_dated" in line
    ]
    assert added[:2] == ["+source_dated: 2026-12-24", "+  H100: p5.4xlarge 6880"]
    assert added[3:] == [
        "+  nvidia-tesla-a100: a2-highgpu-1g 3500", "+      nvidia-h100-mega-80gb: a3-megagpu-8g 20000"
    ]  # fmt: skip
    assert "p5.48xlarge 50041" in found.stdout


def test_chart_versions_are_read_from_their_tags(tmp_path: Path) -> None:
    path = tmp_path / "profiles" / "any" / "charts.yaml"
    path.parent.mkdir(parents=True)
    path.write_text("# Ours.\ncluster-autoscaler:\n  checked: 2026-01-01\n  major: 9\n  minors: {}\n")
    repository, folder = tmp_path / "gits" / "kubernetes+autoscaler", "cluster-autoscaler/charts/cluster-autoscaler"
    charts = {"9.1.0": "v1.30.0", "9.2.0": "v1.30.1", "9.3.0": "v1.30.1", "9.3.1": "v1.31.0", "9.4.0": "v1.31.0"}
    for version, image in charts.items():
        files = {"Chart.yaml": f"appVersion: 1.99.0\nversion: {version}\n", "values.yaml": f"image:\n  tag: {image}\n"}
        committed(
            repository, f"cluster-autoscaler-chart-{version}", {f"{folder}/{name}": files[name] for name in files}
        )
    found = refreshed(tmp_path, "charts", "--write", "--date", "2026-11-22")
    assert found.returncode == 1, found.stderr
    assert path.read_text().splitlines()[-2:] == ["  major: 9", "  minors: {30: [1, 2], 31: [4, 4]}"]
    assert "  checked: 2026-11-22" in path.read_text()


VERSIONS = """# Ours.
sources: [https://a]
checked: 2026-01-01
source_dated: 2020-01-01
confidence: high
effect: none
minors:
  35: {released: 2025-12-17, ends: 2027-02-28}
  36: {released: 2026-04-22, ends: 2027-06-28, extended: 2028-06-28}
"""
PRODUCT = """---
title: Kubernetes
releases:
  - {releaseCycle: "1.37", releaseDate: 2026-08-26, eol: 2027-10-28}
  - {releaseCycle: "1.36", releaseDate: 2026-04-23, eol: 2027-07-28}
  - {releaseCycle: "1.34", releaseDate: 2025-08-27, eol: 2026-10-27}

---
> Words
"""


def test_versions_are_read_from_endoflife_date(tmp_path: Path) -> None:
    path = tmp_path / "profiles" / "selfmanaged" / "versions.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(VERSIONS)
    committed(tmp_path / "gits" / "endoflife.date", "v1", {"products/kubernetes.md": PRODUCT})
    found = refreshed(tmp_path, "versions", "--write", "--date", "2030-01-02")
    assert found.returncode == 1
    lines = path.read_text().splitlines()
    assert lines[-3:] == [
        "  35: {released: 2025-12-17, ends: 2027-02-28}",
        "  36: {released: 2026-04-22, ends: 2027-07-28, extended: 2028-06-28}",
        "  37: {released: 2026-08-26, ends: 2027-10-28}",
    ]
    assert lines[2] == "checked: 2030-01-02"
    assert lines[3] > "source_dated: 2020-01-01"
    again = refreshed(tmp_path, "versions", "--write", "--date", "2031-01-01")
    assert (again.returncode, again.stdout) == (0, "")
    assert path.read_text().splitlines() == lines  # nothing changed: no other day


def test_versions_of_a_newer_source_are_not_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "profiles" / "selfmanaged" / "versions.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(VERSIONS.replace("2020-01-01", "2999-01-01"))
    committed(tmp_path / "gits" / "endoflife.date", "v1", {"products/kubernetes.md": PRODUCT})
    found = refreshed(tmp_path, "versions")
    assert (found.returncode, found.stdout) == (1, "")
    assert "older than the versions that are known here (2999-01-01)" in found.stderr


EKS_CALENDAR = """
|Kubernetes version
|Upstream release
|Amazon EKS release

|`1.37`
|August 26, 2026
|October 1, 2026
|December 1, 2027
|December 1, 2028

|`1.36`
|April 22, 2026
|June 2, 2026
|August 2027
|September 2028
|===
"""
AKS_CALENDAR = """
| Kubernetes version | Upstream release | AKS preview | AKS GA | End of life | LTS End of life |
| ------------------ | ---------------- | ----------- | ------ | ----------- | --------------- |
| 1.37 | Aug 2026 | Sep 2026 | Oct 2026 | Feb 2028 | Feb 2029 |
| 1.36 | Apr 2026 | May 2026 | Jun 2026 | Aug 2, 2027 | Sep 2028 |
| 1.30 | Apr 2024 | Jun 2024 | Jul 2024 | Aug 22, 2025 | Until 1.33 GA |
"""


@pytest.mark.parametrize(
    ("cloud", "repository", "file", "text", "newest"),
    [
        ("eks", "amazon-eks-user-guide", "latest/ug/versioning/kubernetes-versions.adoc", EKS_CALENDAR,
         "  37: {released: 2026-10-01, ends: 2027-12-01, extended: 2028-12-01}"),
        ("aks", "azure-aks-docs", "articles/aks/supported-kubernetes-versions.md", AKS_CALENDAR,
         "  37: {released: 2026-10-31, ends: 2028-02-29, extended: 2029-02-28}"),
    ],
)  # fmt: skip
def test_versions_are_read_from_the_calendar_of_a_cloud(
    cloud: str, repository: str, file: str, text: str, newest: str, tmp_path: Path
) -> None:
    path = tmp_path / "profiles" / cloud / "versions.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(
        VERSIONS.replace("ends: 2027-06-28, extended: 2028-06-28", "ends: 2027-08-02, extended: 2028-06-28")
    )
    committed(tmp_path / "gits" / repository, "v1", {file: text})
    found = refreshed(tmp_path, "versions", "--write")
    assert found.stderr.startswith(f"{cloud}: no git directory of endoflife-date/endoflife.date in ")
    assert path.read_text().splitlines()[-2:] == [
        "  36: {released: 2026-04-22, ends: 2027-08-02, extended: 2028-09-30}",  # the day of a month stays
        newest,
    ]


def test_the_calendar_of_a_cloud_overrides_endoflife_date(tmp_path: Path) -> None:
    path = tmp_path / "profiles" / "eks" / "versions.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(
        VERSIONS.replace("ends: 2027-06-28, extended: 2028-06-28", "ends: 2027-08-31, extended: 2028-09-30")
    )
    before = path.read_text()
    committed(tmp_path / "gits" / "endoflife.date", "v1", {"products/amazon-eks.md": PRODUCT.replace("1.37", "1.33")})
    calendar = {"latest/ug/versioning/kubernetes-versions.adoc": EKS_CALENDAR.replace("1.37", "1.33")}
    committed(tmp_path / "gits" / "amazon-eks-user-guide", "v1", calendar)
    found = refreshed(tmp_path, "versions", "--write")
    assert (found.returncode, found.stdout, path.read_text()) == (0, "", before)


def test_manually_corrected_versions_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "profiles" / "selfmanaged" / "versions.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(VERSIONS.replace("effect: none", "effect: none\ncorrected: [36]"))
    committed(tmp_path / "gits" / "endoflife.date", "v1", {"products/kubernetes.md": PRODUCT})
    found = refreshed(tmp_path, "versions")
    assert [line for line in found.stdout.splitlines() if line.startswith(("-  ", "+  "))] == [
        "+  37: {released: 2026-08-26, ends: 2027-10-28}"
    ]


def test_retirements_missing_on_their_page_are_named(tmp_path: Path) -> None:
    path = tmp_path / "profiles" / "aks" / "retirements.yaml"
    path.parent.mkdir(parents=True)
    blob = "https://github.com/MicrosoftDocs/azure-aks-docs/blob/main"
    days = {
        "same": "2027-03-17",
        "padded": "2026-03-01",
        "moved": "2027-03-18",
        "prefix": "2026-06-01",
        "none": "2027-03-17",
        "short": "2029-11-15",
    }
    pages = {
        "same": f"{blob}/a.md",
        "padded": f"{blob}/a.md",
        "moved": f"{blob}/a.md",
        "prefix": f"{blob}/a.md",
        "none": "https://b",
        "short": f"{blob}/a.md",
    }
    path.write_text("".join(f"{key}:\n  ends: {day}\n  sources: [{pages[key]}]\n" for key, day in days.items()))
    committed(
        tmp_path / "gits" / "azure-aks-docs",
        "v1",
        {"a.md": "On March 17, 2027 it ends, and on March 01, 2026 another. See June 12. | 11/15/29 |"},
    )
    found = refreshed(tmp_path, "retirements")
    assert found.returncode == 1
    assert found.stderr.splitlines() == [
        f"retirements.aks.moved: {blob}/a.md no longer says 2027-03-18",
        f"retirements.aks.prefix: {blob}/a.md no longer says 2026-06-01",
        "aks: no page in a repository for none: look at their sources",
    ]


def test_retirements_are_read_from_release_notes(tmp_path: Path) -> None:
    path = tmp_path / "profiles" / "aks" / "retirements.yaml"
    path.parent.mkdir(parents=True)
    notes = "https://github.com/Azure/AKS/releases/tag/2026-09-04"
    days = {"said": "2026-12-10", "moved": "2026-12-11", "later": "2026-12-12, source_dated: 2999-01-01"}
    path.write_text("".join(f"{key}: {{sources: [{notes}], ends: {day}}}\n" for key, day in days.items()))
    committed(tmp_path / "gits" / "AKS", "2026-09-04", {"CHANGELOG.md": "It ends on December 10, 2026."})
    first, second = refreshed(tmp_path, "retirements").stderr.splitlines()
    assert first == f"retirements.aks.moved: {notes} no longer says 2026-12-11"
    assert second.startswith(f"retirements.aks.later: {notes} does not say 2026-12-12: the copy is of 20")


def test_modules_without_a_skeleton_for_their_newest_version_are_named(tmp_path: Path) -> None:
    path = tmp_path / "profiles" / "modules.yaml"
    path.parent.mkdir(parents=True)
    modules = {"a": "one", "b": "two", "c": "three", "d//part": "two", "e": "four"}
    text = '{}:\n  repository: x/{}\n  skeletons: [{{versions: ">= 1.0, < 2.0"}}]\n'
    path.write_text("checked: 2026-01-01\n" + "".join(text.format(*pair) for pair in modules.items()))
    committed(tmp_path / "gits" / "one", "v1.10.0", {"variables.tf": ""})
    committed(tmp_path / "gits" / "two", "v1.10.0", {"variables.tf": "", "part/variables.tf": ""})
    (tmp_path / "gits" / "two" / "part" / "variables.tf").unlink()  # the part ends before 2.0.0
    committed(tmp_path / "gits" / "two", "v2.0.0", {"variables.tf": "b"})
    committed(tmp_path / "gits" / "four", "v1.0.0", {"a": ""})
    found = refreshed(tmp_path, "modules")
    assert found.returncode == 1
    first, second, third = found.stderr.splitlines()
    assert first == "b: no skeleton for its newest version, 2.0.0"
    assert second == "e: x/four has no tags with variables.tf here"
    assert third.startswith("modules: no git directory of x/three in ")


PROTO = """message Quota {
  enum Metric {
    // N
    N2_CPUS = 1;

    NVIDIA_X9_GPUS = 2;
    DISKS = 3;
  }
}
"""


CODES = """
  variables = {
    ec2_running_on_demand_p_instances = {
      quota_code    = "L-0000000A"
      service_code  = "ec2"
    }
    ec2_running_dedicated_p5_hosts = {
      quota_code    = "L-0000000B"
    }
    ec2_all_p9_spot_instance_requests = {
      quota_code    = "L-0000000C"
    }
  }
"""


def test_quotas_are_compared_with_the_api(tmp_path: Path) -> None:
    path = tmp_path / "profiles" / "gke" / "quotas.yaml"
    path.parent.mkdir(parents=True)
    eks = tmp_path / "profiles" / "eks"
    eks.mkdir()
    (eks / "quotas.yaml").write_text("a: {code: L-0000000A}\nb: &b\n  code: L-0000000D\n")
    (eks / "limits.yaml").write_text("vpc:\n  units:\n    code: L-0000000B\n")
    path.write_text(
        "a: {code: N2_CPUS}\nb: {code: GONE_CPUS vm_family=X}\nc: {code: GPUS_PER_GPU_FAMILY gpu_family=X}\n"
    )
    committed(tmp_path / "gits" / "googleapis", "v1", {"google/cloud/compute/v1/compute.proto": PROTO})
    assert refreshed(tmp_path, "quotas").stderr.startswith(
        "eks: no git directory of gruntwork-io/terraform-aws-utilities"
    )
    name = "gruntwork-io+terraform-aws-utilities"
    committed(tmp_path / "gits" / name, "v1", {"modules/request-quota-increase/main.tf": CODES})
    found = refreshed(tmp_path, "quotas")
    assert found.returncode == 1
    assert found.stderr.splitlines() == [
        "eks: not in modules/request-quota-increase/main.tf: L-0000000D",
        "eks: quotas of machines that the API has and the file has not: L-0000000C (ec2_all_p9_spot_instance_requests)",
        "gke: not in google/cloud/compute/v1/compute.proto: GONE_CPUS",
        "gke: quotas of accelerators that the API has and the file has not: NVIDIA_X9_GPUS",
    ]


@pytest.mark.slow
def test_new_gpu_types_in_the_alibaba_cloud_price_list_are_named(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "profiles", tmp_path / "profiles")
    names = ["ecs.gn7i-c8g1.2xlarge", "ecs.gn99-c8g1.2xlarge", "ecs.ebmgn99.xlarge", "ecs.sn99.large"]
    files = {f"{PRICES}initial-on-demand-prices.json": json.dumps({"cn-hangzhou": dict.fromkeys(names, 1.5)})}
    committed(tmp_path / "gits" / "cloudpilot-ai+karpenter-provider-alibabacloud", "v1", files)
    found = refreshed(tmp_path, "machines")
    (said,) = (line for line in found.stderr.splitlines() if line.startswith("ack: "))
    assert said.endswith(" has and the file has not: ebmgn99.xlarge, gn99-c8g1.2xlarge")


def test_refreshing_fields_needs_the_kubernetes_validate_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "kubernetes_validate.py").write_text("raise ImportError")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = refreshed(tmp_path, "fields")
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr == "fields: kubernetes-validate, which has the fields of core kinds, is not installed\n"


def test_kubernetes_releases_newer_than_the_field_tables_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    fields, gits = importlib.import_module("derive.fields"), importlib.import_module("derive.gits")
    monkeypatch.setattr(fields, "CRDS", ("x/one v1.9.0 a.yaml", "x/one v1.9.0 b.yaml", "x/two v0.1.0 a.yaml"))
    monkeypatch.setattr(fields, "AFTER", {"x/two": ("v0.2.0", {})})
    monkeypatch.setattr(gits, "told", [])
    for name, tags in (("one", ["v1.9.0", "v1.10.0", "v1.11.0-rc.1", "v2.0.0"]), ("two", ["v0.1.0", "v0.2.0"])):
        for tag in tags:
            committed(tmp_path / name, tag, {})
    fields.name_newer(tmp_path)
    assert gits.told == ["fields: x/one has v1.10.0, the table has v1.9.0"]


def test_the_list_of_repositories_equals_what_the_parts_read(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "profiles", tmp_path / "profiles")
    found = refreshed(tmp_path, "--repositories").stdout.splitlines()
    assert {
        "kubernetes/autoscaler", "kubernetes-sigs/cluster-autoscaler", "endoflife-date/endoflife.date",
        "googleapis/googleapis", "MicrosoftDocs/azure-aks-docs", "MicrosoftDocs/azure-compute-docs",
        "terraform-aws-modules/terraform-aws-vpc", "aws/karpenter-provider-aws", "Azure/karpenter-provider-azure",
        "cloudpilot-ai/karpenter-provider-gcp", "Cyclenerd/google-cloud-pricing-cost-calculator", "Azure/AKS",
        "ray-project/kuberay", "kubernetes-sigs/lws", "kubeflow/training-operator", "awsdocs/amazon-eks-user-guide",
    } <= set(found)  # fmt: skip
