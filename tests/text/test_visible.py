"""Test hostile text: control and invisible characters are escaped, harmless text stays."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcheck.report import escape
from kcheck.text.control_characters import escaped, visible, visible_lines

HONEST = [
    "größe, naïve, Ångström",
    "日本語 訓練ジョブ",
    "葛\U000e0100城",
    "한국어",
    "العربية שלום",
    "می‌خواهم क्‍ष",
    "👩‍💻 👩🏽‍🔬 🏳️‍🌈 ❤️ 1️⃣ 🙂‍↔️",
    "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "2001:db8::/32 and ::/0, a::b",
    "a\u00a0b\u3000c",
    r"C:\temp\x1b, ^\d+$",
    "# ## heading ## [x]",
]


@pytest.mark.parametrize("text", HONEST)
def test_harmless_text_is_not_escaped(text: str) -> None:
    assert visible(text) == escaped(text) == visible_lines(text) == text
    assert json.loads(escape.json_text(text, indent=1)) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb\x9b", r"a\x1b[31mb\x9b"),
        ("a\nb\r\tc\x00", r"a\nb\r\tc\x00"),
        ("user\u202enimda\u2066", r"user\u202enimda\u2066"),
        ("a\u200bb\u200dc\u200cd\ufeff\xad", r"a\u200bb\u200dc\u200cd\ufeff\xad"),
        ("a\u2028b\u2029\u0085", r"a\u2028b\u2029\x85"),
        ("\udcff\ud800", r"\udcff\ud800"),
        ("x\U000e0067\U000e007f", r"x\U000e0067\U000e007f"),
        ("::error::x", r"\x3a:error::x"),
        (" \u00a0::error::x", " \u00a0\\x3a:error::x"),
        ("a ##[group]b ##vso[task.x]c", r"a \x23#[group]b \x23#vso[task.x]c"),
    ],
)
def test_control_and_invisible_characters_are_escaped(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible(shown) == shown


def test_line_ends_and_tabs_are_kept() -> None:
    text = "a\tb\n\t::x\x1b[1mbold\x1b[0m"
    assert visible_lines(text) == "a\tb\n\t\\x3a:x\\x1b[1mbold\\x1b[0m"


@pytest.mark.medium
@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_json_keeps_every_character(text: str) -> None:
    document = escape.json_text({text: text}, indent=1)
    assert json.loads(document) == {text: text}
    assert visible_lines(document) == document


def test_json_contains_no_lone_surrogate() -> None:
    assert json.loads(escape.json_text(["\udcff"], indent=1)) == ["\\udcff"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a_b | `c` <b> [l](https://x.y) &lt;", r"a\_b \| \`c\` \<b\> \[l\](https\://x.y) \&lt;"),
        ("@team, me@x.org, image@sha256:1", "@&#8203;team, me@&#8203;x.org, image@sha256:1"),
        ("#12 GH-3 www.x.org", r"\#&#8203;12 GH-&#8203;3 www\.x.org"),
    ],
)
def test_markdown_shows_text_unchanged(text: str, shown: str) -> None:
    assert escape.markdown(text) == shown


def test_markdown_code_cannot_be_closed_by_its_text() -> None:
    assert escape.markdown_code("a.tf:1") == "`a.tf:1`"
    assert escape.markdown_code("a`b``c") == "``` a`b``c ```"
    assert escape.markdown_code("a|b\\") == r"a\|b\\"


def test_only_web_addresses_become_links() -> None:
    assert escape.markdown_link("a]", "https://x.y/z#w") == r"[a\]](https://x.y/z#w)"
    assert escape.markdown_link("a", "javascript:x") == escape.markdown_link("a", "https://x.y/) b") == "a"


XSS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg/onload=alert(1)>',
    "'><iframe src=javascript:alert(1)>",
    "</title><script>alert(1)</script>",
    "]]><script>alert(1)</script>",
    "<!--><script>alert(1)</script>-->",
    "<scr\x00ipt>alert(1)</scr\x00ipt>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "\uff1cscript\uff1ealert(1)",
    "<a href='java\tscript:alert(1)'>x</a>",
    "<?xml version='1.0'?><!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]>&b;",
]


@pytest.mark.parametrize("text", XSS)
def test_markup_is_text_in_html_and_xml(text: str) -> None:
    shown = escape.xml_text(text)
    page = ElementTree.fromstring(f"<p title=\"{shown}\" lang='{shown}'>{shown}</p>")  # noqa: S314 - our own
    assert page.text == page.get("title") == page.get("lang") == visible(text)
    assert len(page) == 0


def test_a_github_command_cannot_be_extended_by_its_message() -> None:
    line = escape.workflow_command("error", {"file": "::a,b:c%\n.tf"}, ["x\n::y%0A", "z"])
    assert line == "::error file=%3A%3Aa%2Cb%3Ac%25\\n.tf::x\\n::y%250A%0Az"
