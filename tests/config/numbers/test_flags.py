"""Test flags of the cluster autoscaler by version, down to the patch."""

from __future__ import annotations

import pytest

from kcheck.config.numbers import flags


@pytest.mark.parametrize(
    ("name", "version", "later"),
    [
        ("enable-provisioning-requests", "v1.30.0", True),
        ("enable-provisioning-requests", "v1.30.1", False),
        ("enable-provisioning-requests", "1.29.5", True),
        ("enable-provisioning-requests", "1.30", None),
        ("enable-provisioning-requests", "1.31", False),
        ("force-delete-failed-nodes", "1.31.4", True),
        ("force-delete-failed-nodes", "1.31.5", False),
        ("force-delete-failed-nodes", "1.32.2", True),
        ("force-delete-failed-nodes", "1.33.0", True),
        ("force-delete-failed-nodes", "1.34.0", False),
        ("aws-use-static-instance-list", "1.15.5", True),
        ("aws-use-static-instance-list", "1.16.4", True),
        ("aws-use-static-instance-list", "1.17.0", False),
        ("expander", "1.15.0", False),
    ],
)
def test_an_autoscaler_flag_can_appear_in_a_patch_release(name: str, version: str, later: bool | None) -> None:
    own = flags.release(version)
    assert own is not None
    assert flags.comes_later(name, own) is later
    assert flags.known_to(name, own) is (later is False)


@pytest.mark.parametrize(
    ("name", "version", "removed"),
    [
        ("max-empty-bulk-delete", "1.32.7", False),
        ("max-empty-bulk-delete", "1.33.0", True),
        ("max-empty-bulk-delete", "1.33", True),
        ("lease-resource-name", "1.32.0", False),
        ("lease-resource-name", "1.32.1", True),
        ("lease-resource-name", "1.32", None),
        ("expander", "1.37.0", False),
    ],
)
def test_an_autoscaler_flag_can_be_removed_in_a_release(name: str, version: str, removed: bool | None) -> None:
    own = flags.release(version)
    assert own is not None
    assert flags.is_removed(name, own) is removed


def test_the_first_release_of_a_flag_is_of_the_given_minor_version_or_later() -> None:
    found = [str(flags.first_release("force-delete-failed-nodes", minor)) for minor in (28, 31, 32, 33, 34)]
    assert found == ["1.31.5", "1.31.5", "1.32.3", "1.33.1", "None"]


@pytest.mark.parametrize("text", ["latest", "v2.0.0", "main-1.30", ""])
def test_text_that_is_not_a_version_is_not_a_release(text: str) -> None:
    assert flags.release(text) is None


def test_every_flag_names_its_releases() -> None:
    for name, flag in flags.flags().items():
        first = flag.get("first", [])
        texts = [first] if isinstance(first, str) else [*first]
        texts += [flag["removed"]] if "removed" in flag else []
        releases = [flags.release(text) for text in texts]
        assert all(one is not None and one.patch is not None for one in releases), name
        assert flag.get("successor", name) in flags.flags()
