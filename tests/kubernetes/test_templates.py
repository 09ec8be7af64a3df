"""Test charts that kcheck renders itself: the same as helm does, or not at all."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kcheck.config.config import Config
from kcheck.kubernetes import render, templates
from kcheck.kubernetes.charts import Charts
from kcheck.kubernetes.template_functions import FUNCTIONS, TemplateError, call
from kcheck.text.files.tree import Tree
from tests.conftest import names

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Check, Write


HELM = os.environ.get("KCHECK_HELM") or shutil.which("helm")

VALUES = """
nodes: 250
large: 1234567
million: 1000000
half: 0.5
tiny: 0.00001
octal: 0777
good: yes
bad: false
on: a key that is true
zero: 0
nothing: null
empty: ""
name: train
quoted: "8"
text: |
  one
  two "three"
list: [b, a, 3]
map: {b: 1, a: {c: x}}
odd: {"on": "yes", number: "12", date: "2025-01-01", time: "1:30", colon: "a: b", hash: "a #b", space: " x", lines: "a\\nb", empty: "", list: [], map: {}, html: "<a & b>"}
pods: [{name: a, gpus: 8}, {name: b}]
template: "{{ .Values.name }}-{{ .Release.Name }}"
"""
CASES = {
    "{{ kindIs \"string\" .Values.name }} {{ kindIs \"map\" .Values.map }} {{ kindIs \"slice\" .Values.map }} {{ kindIs \"float64\" .Values.nodes }}": "true true false true",
    "{{ index .Values.map \"b\" }} {{ index .Values.list 1 }} {{ index .Values.map \"a\" \"c\" }} {{ index .Values.map \"no\" }}": "1 a x <no value>",
    "{{ tpl .Values.template . }} {{ tpl \"{{ .b }}\" .Values.map }}": "train-train 1",
    "{{ coalesce nil .Values.empty .Values.name }} {{ first .Values.list }} {{ get .Values.map \"b\" }}{{ get .Values.map \"no\" }}": "train b 1",
    "{{ upper .Values.name }} {{ hasPrefix \"tr\" .Values.name }} {{ hasSuffix \"tr\" .Values.name }} {{ trimPrefix \"tr\" .Values.name }}": "TRAIN true false ain",
    '{{ with lookup "v1" "Secret" "ns" "key" }}kept{{ else }}new{{ end }}': "new",
    "{{ squote .Values.name 1 .Values.missing }}": "'train' '1'",
    "{{ with .Release.Time }}x{{ end }}{{ .Release.Revision }}{{ if false }}{{ date \"2006\" .Release.Time }}{{ end }}": "1",
    "{{ .Values.nodes }} {{ .Values.large }} {{ .Values.million }} {{ .Values.half }}": "250 1.234567e+06 1e+06 0.5",
    "{{ .Values.tiny }} {{ .Values.octal }} {{ .Values.good }} {{ .Values.zero }}": "1e-05 511 true 0",
    "{{ .Values.nothing }}|{{ .Values.missing }}|{{ quote .Values.missing }}|{{ .Values.empty | quote }}": '<no value>|<no value>||""',
    "{{ .Values.text | quote }}": '"one\\ntwo \\"three\\"\\n"',
    "a {{- .Values.name -}} b": "atrainb",
    "a {{- /* a comment */ -}}\n b": "ab",
    "{{ $x := 1 }}{{ if .Values.good }}{{ $x = 2 }}{{ $x := 3 }}{{ end }}{{ $x }}": "2",
    "{{ if .Values.zero }}a{{ else if .Values.list }}b{{ else }}c{{ end }}": "b",
    "{{ if or .Values.bad .Values.empty }}a{{ else }}{{ and .Values.good .Values.nodes }}{{ end }}": "250",
    "{{ range $i, $e := .Values.list }}{{ $i }}={{ $e }},{{ end }}": "0=b,1=a,2=3,",
    "{{ range .Values.missing }}x{{ else }}none{{ end }}{{ range until 3 }}{{ . }}{{ end }}": "none012",
    "{{ range .Values.pods }}{{ .name }}{{ .gpus | default 4 }} {{ end }}": "a8 b4 ",
    "{{ eq .Values.name \"a\" \"train\" }} {{ ne 1 2 }} {{ gt (int .Values.nodes) 9 }} {{ eq .Values.missing .Values.nothing }}": "true true true true",
    "{{ toYaml .Values.map }}|{{ toYaml .Values.pods }}": "a:\n  c: x\nb: 1|- gpus: 8\n  name: a\n- name: b",
    "{{ toYaml .Values.odd }}": (
        "colon: 'a: b'\ndate: \"2025-01-01\"\nempty: \"\"\nhash: 'a #b'\nhtml: <a & b>\nlines: |-\n  a\n  b\nlist: []\nmap: {}\n"
        "number: \"12\"\n\"on\": \"yes\"\nspace: ' x'\ntime: \"1:30\""
    ),
    "{{ toYaml .Values.large }} {{ toYaml .Values.half }} {{ toYaml .Values.tiny }} {{ toYaml .Values.missing }}": "1234567 0.5 1e-05 null",
    "{{ .Values.on }}|{{ .Values.true }}": "<no value>|a key that is true",
    '{{ printf "%s-%v-%d-%t" .Values.name .Values.nodes 3 .Values.good }} {{ printf "%v" .Values.missing }}': "train-250-3-true <nil>",
    "{{ range $k, $v := .Values.map }}{{ $k }}{{ end }}{{ range $i, $e := .Values.list }}{{ $i = 5 }}{{ $i }}{{ end }}": "ab555",
    "{{ with .Values.map.a }}{{ .c }}{{ $.Release.Name }}{{ end }}{{ with .Values.bad }}x{{ else }}y{{ end }}": "xtrainy",
    "{{ div 7 2 }} {{ div -7 2 }} {{ add 1 2.9 }} {{ max 1 5 3 }} {{ min .Values.nodes 4 }} {{ add 1 .Values.quoted }}": "3 -3 3 5 4 9",
    "{{ ternary \"a\" \"b\" .Values.good }} {{ empty .Values.map }} {{ eq .Values.missing \"a\" }} {{ not .Values.zero }}": "a false false true",
    "{{ trunc 3 .Values.name }} {{ trimSuffix \"n\" .Values.name }} {{ replace \"t\" \"T\" .Values.name }} {{ lower \"AB\" }}": "tra trai Train ab",
    "{{ contains \"ra\" .Values.name }} {{ len .Values.text }} {{ hasKey .Values.map \"a\" }} {{ has \"a\" .Values.list }}": "true 16 true true",
    "{{ (fromYaml \"a: {b: 3}\").a.b }} {{ toYaml (fromYaml \"\") }} {{ ((.Values.missing).a).b }}": "3 {} <no value>",
    "{{ include \"two\" (dict \"a\" 5) }}{{ template \"two\" dict }}{{ include \"nothing\" . | quote }}": '(5)(<no value>)"<no value>"',
    "{{ .Release.Service }} {{ .Release.Namespace }} {{ .Release.IsInstall }} {{ .Chart.Name }} {{ .Chart.AppVersion }} {{ .Chart.Version }}": "Helm default true train 1.10 1.0.0",
    "{{ .Template.Name }} {{ .Template.BasePath }}": "train/templates/cases.yaml train/templates",
    "{{ .Capabilities.APIVersions.Has \"monitoring.coreos.com/v1\" }} {{ if .Capabilities.APIVersions.Has \"policy/v1\" }}a{{ end }}": "false a",
    "{{ print 1 2 \"a\" 3 }} {{ print .Values.name \"-\" 1 }} {{ \"a\\tb\" | b64enc }} {{ `a\"b` }}": "1 2a3 train-1 YQli a\"b",
    "{{ append .Values.list \"c\" | len }} {{ concat (list 1) (list 2) | toYaml }} {{ sha256sum \"\" | trunc 6 }}": "4 - 1\n- 2 e3b0c4",
    "{{ $d := dict }}{{ $_ := set $d \"a\" 1 }}{{ $d.a }} {{ -3 }} {{ 1.50 }} {{ true }} {{ \"x\" | printf \"%s%s\" \"y\" }}": "1 -3 1.5 true yx",
    "{{ le 1 1 }} {{ lt \"a\" \"b\" }} {{ ge 2 (add 1 1) }}": "true true true",
    "{{ gt (int .Values.nodes) 9 }} {{ ne 1 2 }} {{ eq .Values.name \"a\" \"train\" }}{{ if or .Values.bad .Values.nodes | and 1 }}!{{ end }}": "true true true!",
    "{{ trunc -2 .Values.name }} {{ trunc -9 .Values.name }} {{ trunc 0 .Values.name }}": "in train ",
    "{{ nindent 2 \"a\\nb\" }}": "\n  a\n  b",
    "{{ mul 2 3 .Values.nodes }} {{ sub 7 2 }} {{ join \",\" .Values.list }} {{ base \"a/b.c\" }} {{ base \"a/\" }} {{ trim \" a \\n\" }}": "1500 5 b,a,3 b.c a a",
    "{{ required \"x\" .Values.name }} {{ toString .Values.large }} {{ (fromJson \"{\\\"a\\\": {\\\"b\\\": 12288}}\").a.b }}": "train 1.234567e+06 12288",
}  # fmt: skip
"""Templates, and what helm 3.16.4 renders from them; helm removes `<no value>` in the end."""
REFUSED = {
    "{{ randAlpha 5 }}": ("it uses randAlpha", "randAlpha"),
    "\n\n{{ genCA 1 }}": ("it uses genCA", "genCA"),
    "{{ now }}": ("it uses a struct as a text", "a struct as a text"),
    "{{ if uuidv4 }}{{ end }}": ("it uses a text that is not known as a condition", "a text that is not known as a condition"),
    "{{ eq uuidv4 \"a\" }}": ("it uses a comparison with a text that is not known", "a comparison with a text that is not known"),
    "{{ has \"a\" (list uuidv4) }}": ("it uses a comparison with a text that is not known", "a comparison with a text that is not known"),
    "{{ include \"random\" . | contains \"a\" }}": ("it uses contains of a text that is not known", "contains of a text that is not known"),
    "{{ now | unixEpoch | int }}": ("it uses a text that is not known as a condition", "a text that is not known as a condition"),
    "{{ range (now | date \"2006\") }}{{ end }}": ("it uses range over a value that is neither list nor map", "range over a value that is neither list nor map"),
    "{{ randAlphaNum 0 }}": ("it uses randAlphaNum 0", "randAlphaNum 0"),
    "{{ range .Files.Glob \"{a,b}/*\" }}{{ end }}": ("it uses .Files.Glob {a,b}/*", ".Files.Glob {a,b}/*"),
    "{{ (.Files.Glob \"a/*\").AsSecrets }}": ("it uses .AsSecrets", ".AsSecrets"),
    "{{ join \",\" .Values.name }}": ("join gets string", ""),
    "{{ fromJson \"[1]\" }}": ("it uses YAML that is not a map", "YAML that is not a map"),
    "{{ (.Files.Glob \"a/*\").Get \"a/b\" }}": ("it passes arguments to a value that is not a function", ""),
    "{{ required \"name the image\" .Values.missing }}": ("name the image", ""),
    "{{ required \"name the image\" .Values.empty }}": ("name the image", ""),
    "{{ .Capabilities.KubeVersion.Version }}": ("it uses .KubeVersion", ".KubeVersion"),
    "{{ break }}": ("it uses break", "break"),
    "{{ keys .Values }}": ("it uses keys", "keys"),
    "{{ .Values.YAML }}": ("it uses .YAML", ".YAML"),
    "{{ .Values.list }}": ("it uses a slice as a text", "a slice as a text"),
    "{{ printf \"%d\" .Values.nodes }}": ("it uses printf '%d'", "printf '%d'"),
    "{{ lower \"\u00c4\" }}": ("it uses letters beyond ASCII", "letters beyond ASCII"),
    "{{ $x := list 1 }}{{ range until 200 }}{{ $x = list $x $x }}{{ end }}{{ toYaml $x }}": ("it uses too much text", "too much text"),
    "{{ $x := list 1 }}{{ range until 200 }}{{ $x = list $x }}{{ end }}{{ toYaml $x }}": ("it uses too much text", "too much text"),
    "{{ $x := \"aa\" }}{{ range until 60 }}{{ $x = print $x $x }}{{ end }}": ("it uses too many steps", "too many steps"),
    "{{ $x := list 1 }}{{ $y := list 1 }}{{ range until 60 }}{{ $x = list $x $x }}{{ $y = list $y $y }}{{ end }}{{ eq $x $y }}": (
        "it compares slice with slice", ""
    ),
    "{{ $x := dict }}{{ $y := dict }}{{ $_ := set $x \"a\" $x }}{{ $_ := set $y \"a\" $y }}{{ eq $x $y }}": ("it compares map with map", ""),
    "{{ $x := list (until 9000) }}{{ range until 99 }}{{ $_ := toYaml $x }}{{ end }}": ("it uses too many steps", "too many steps"),
    "{{ $x := until 9000 }}{{ range until 90 }}{{ $x = list $x }}{{ end }}{{ toYaml $x }}": ("it uses too many steps", "too many steps"),
    "{{ $x := \"a, b: {c: d}, \" }}{{ range until 14 }}{{ $x = print $x $x }}{{ end }}{{ range until 99 }}{{ $_ := fromYaml (print \"{\" $x \"}\") }}{{ end }}": (
        "it uses too many steps", "too many steps"
    ),
    "\n" * 300_000 + "{{ range until 9000 }}" + "x" * 300 + "{{ end }}": ("it uses too much text", "too much text"),
    "{{ repeat 1000000000 \"a\" }}": ("it uses repeat", "repeat"),
    "{{ untilStep 0 1000000000 1 }}": ("it uses untilStep", "untilStep"),
    "{{ printf \"" + "%" * 9000 + "\" }}": ("it uses printf '" + "%" * 92, "printf '" + "%" * 92),
    "{{ until 1000000000 }}": ("it uses until 1000000000", "until 1000000000"),
    "{{ indent 1000000000 \"a\" }}": ("it uses indent 1000000000", "indent 1000000000"),
    "{{ add 999999999999999 \"900000000000000000\" | add .Values.large | max 1e9 }}": ("it has '1e9' in an action", ""),
    "{{ define \"a\" }}{{ include \"a\" . }}{{ end }}{{ include \"a\" . }}": ("it uses more than 100 levels of templates", "more than 100 levels of templates"),
    "{{ range until 9999 }}{{ range until 9999 }}{{ end }}{{ end }}": ("it uses too many steps", "too many steps"),
    "{{ " + "(" * 200 + "1" + ")" * 200 + " }}": ("it uses more than 100 levels", "more than 100 levels"),
    "{{ if 1 }}" * 200 + "{{ end }}" * 200: ("it uses more than 100 levels of templates", "more than 100 levels of templates"),
    "{{ .Values.missing.a }}": ("it takes .a of nil", ""),
    "{{ .Values.name.a }}": ("it takes .a of string", ""),
    "{{ gt .Values.nodes 1 }}": ("it compares float64 with int", ""),
    "{{ until .Values.nodes }}": ("until gets float64", ""),
    "{{ trunc (add 1 2) \"abcde\" }}": ("trunc gets int64", ""),
    "{{ lower .Values.missing }}": ("lower gets nil", ""),
    "{{ len .Values.missing }}": ("len gets nil", ""),
    "{{ div 1 0 }}": ("it divides by zero", ""),
    "{{ include \"other\" . }}": ("no template is called other", ""),
    "{{ if true }}": ("an `end` is missing", ""),
    "{{ end }}": ("`end` is misplaced", ""),
    "{{ $x }}": ("$x is not declared", ""),
    "{{ \"a\" }": ("an action has no end", ""),
    "{{ .a\"b\" }}": ("it has '.a\"b\"' in an action", ""),
}  # fmt: skip
"""Templates that kcheck does not render, with the reason; some helm renders, on others it fails, too."""

CHART = 'apiVersion: v2\nname: train\nversion: 1.0.0\nappVersion: "1.10"\n'
JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\n"
HELPERS = '{{ define "random" }}a-{{ uuidv4 }}{{ end }}{{ define "two" }}({{ .a }}){{ end }}{{ define "nothing" }}{{ .Values.missing }}{{ end }}'


def rendered(folder: str = ".") -> str:
    charts = Charts(Tree([folder]), Config())
    (chart,) = charts.all
    return render.output_without_helm(chart, [chart], charts.tree, "train", {})


def by_helm(folder: str = ".") -> subprocess.CompletedProcess[str]:
    if HELM is None:
        pytest.skip("helm is not installed, and KCHECK_HELM names none")
    return subprocess.run([HELM, "template", "train", folder], capture_output=True, text=True, check=False)


def write_cases(write: Write) -> None:
    defined = "".join(f'{{{{ define "{i}" }}}}{case}{{{{ end }}}}' for i, case in enumerate(CASES))
    encoded = "".join(f'  c{i}: {{{{ include "{i}" . | b64enc | quote }}}}\n' for i in range(len(CASES)))
    cases = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: cases}}\ndata:\n{encoded}"
    write(
        {
            "Chart.yaml": CHART,
            "values.yaml": VALUES,
            "templates/_a.tpl": HELPERS + defined,
            "templates/cases.yaml": cases,
        }
    )


def decoded(output: str) -> dict[str, str]:
    data = yaml.safe_load(output)["data"]
    return {case: base64.b64decode(data[f"c{i}"]).decode() for i, case in enumerate(CASES)}


def test_built_in_rendering_equals_the_recorded_helm_output(write: Write) -> None:
    write_cases(write)
    assert decoded(rendered()) == CASES


@pytest.mark.medium
def test_helm_gives_the_recorded_output(write: Write) -> None:
    write_cases(write)
    done = by_helm()
    assert done.stderr == ""
    assert decoded(done.stdout) == CASES


@pytest.mark.medium
@pytest.mark.parametrize("template", REFUSED)
def test_unsupported_templates_are_refused(template: str, write: Write) -> None:
    files = {"Chart.yaml": CHART, "values.yaml": f"{VALUES}self: '{{{{ tpl .Values.self . }}}}'\n"}
    write({**files, "templates/_a.tpl": HELPERS, "templates/a.yaml": f"{JOB}data: |\n{template}\n"})
    with pytest.raises(TemplateError) as found:
        rendered()
    assert (str(found.value), found.value.unsupported) == REFUSED[template]
    assert found.value.place.startswith("templates/a.yaml:") or "`" in str(found.value)
    if HELM and not found.value.unsupported and "set $x" not in template and "list $x $x" not in template:
        assert by_helm().returncode  # without those that helm prints for ever


def test_random_text_is_replaced_by_fixed_text(write: Write) -> None:
    names = 'a: {{ include "random" . | quote }}\nb: {{ randAlphaNum 5 | lower }}\nc: {{ now | date "2006" }}-{{ now | unixEpoch }}\n'
    write({"Chart.yaml": CHART, "templates/_a.tpl": HELPERS, "templates/a.yaml": f"{JOB}{names}d: {{{{ uuidv4 }}}}\n"})
    own = yaml.safe_load(rendered())
    assert [own[key] for key in "abcd"] == ["a-uuidv4-1", "randalphanum-2", "date-unixepoch", "uuidv4-3"]


SCRIPTS = """apiVersion: v1
kind: ConfigMap
metadata: {name: scripts}
data:
{{- range $path, $text := .Files.Glob "scripts/*.sh" }}
  {{ base $path }}: |-
{{ $.Files.Get $path | indent 4 }}
{{- end }}
{{- range $path, $text := .Files.Glob "more/**" }}
  {{ base $path }}: {{ $text }}
{{- end }}
{{ (.Files.Glob "settings/*").AsConfig | indent 2 }}
  none: {{ .Files.Get "templates/a.yaml" | quote }}
"""


@pytest.mark.parametrize("program", [rendered, lambda: by_helm().stdout])
def test_templates_can_read_files_of_the_chart(program: Callable[[], str], write: Write) -> None:
    files = {
        "scripts/run.sh": "set -e\necho a",
        "scripts/deep/b.sh": "no",
        "scripts/c.py": "no",
        "settings/a.conf": "x: 1\n",
        "more/a": "top",
        "more/deep/b": "below",
    }
    write({"Chart.yaml": CHART, "templates/a.yaml": SCRIPTS, **files})
    assert yaml.safe_load(program())["data"] == {
        "run.sh": "set -e\necho a",
        "a": "top",
        "b": "below",
        "a.conf": "x: 1\n",
        "none": "",
    }


@pytest.mark.parametrize("values", ["null\n...\n", "", "# nothing\n", "~\n"])
def test_empty_chart_values_are_accepted(values: str, write: Write) -> None:
    write({"Chart.yaml": CHART, "values.yaml": values, "templates/a.yaml": JOB + "a: {{ .Values.a | default 3 }}\n"})
    assert yaml.safe_load(rendered())["a"] == 3


def test_files_ignored_by_helm_are_not_rendered(write: Write) -> None:
    write({"Chart.yaml": CHART, ".helmignore": "# a\n*.yaml\n", "templates/a.yaml": JOB})
    with pytest.raises(TemplateError, match=r"\.helmignore"):
        rendered()


TRAIN = {
    "train/Chart.yaml": CHART,
    "train/values.yaml": "image: pytorch/pytorch:2.5\nnodes: 250\n",
    "train/templates/job.yaml": JOB
    + "spec:\n  parallelism: {{ .Values.nodes }}\n  template:\n    spec:\n      containers:\n        - name: a\n          image: {{ .Values.image }}\n",
}


def test_a_chart_is_checked_by_default(check: Check) -> None:
    (found,) = [one for one in check(TRAIN).findings if one.rule == "docker-hub-image"]
    assert (found.span.source.path, found.span.text) == ("train/values.yaml", "pytorch/pytorch:2.5")
    assert found.message.startswith("Job train needs 250 ")


def test_a_template_action_can_end_on_a_later_line(check: Check) -> None:
    template = (
        TRAIN["train/templates/job.yaml"] + "{{- if and\n  .Values.nodes\n  .Values.image }}\n# a comment\n{{- end }}\n"
    )
    (found,) = [
        one for one in check({**TRAIN, "train/templates/job.yaml": template}).findings if one.rule == "docker-hub-image"
    ]
    assert found.message.startswith("Job train needs 250 ")


def test_a_refused_chart_is_named(check: Check) -> None:
    refused = TRAIN["train/templates/job.yaml"].replace("name: train", "name: {{ randAlpha 5 }}")
    result = check({**TRAIN, "train/templates/job.yaml": refused})
    (one,) = result.judged.skipped
    assert (one.path, one.line, one.remedy) == ("train/templates/job.yaml", 3, "--render helm renders it")
    assert one.reason == "the chart train was not rendered: it uses randAlpha"
    assert "unrendered-chart" in names(result)


@pytest.mark.parametrize("image", ["image: ''\n", "", "image:\n", "image: :1.4\n"])
def test_a_chart_without_its_own_image_is_not_rendered(image: str, check: Check) -> None:
    result = check({**TRAIN, "train/values.yaml": f"{image}nodes: 250\n"})
    (one,) = result.judged.skipped
    assert (one.path, one.line, one.reason) == (
        "train/templates/job.yaml", 9, "the chart train was not rendered: its own values name no image",
    )  # fmt: skip


def test_a_chart_that_may_be_deployed_is_not_judged_by_its_defaults(check: Check) -> None:
    """The text of an ApplicationSet names the chart in a way that kcheck does not follow."""
    several = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: a}\nspec: {charts: train}\n"
    (one,) = check({**TRAIN, "a.yaml": several}).judged.skipped
    assert one.reason.endswith("was not rendered: something in the tree may deploy it with other values")


PARTS = st.sampled_from([
    "{{", "}}", "{{-", "-}}", " ", "\n", "a: b", "if", "else", "end", "range", "with", "define", "template", "include",
    "$x", ":=", "=", "$", ".", ".Values.list", ".Values.map", ".Values", "(", ")", "|", ",", '"two"', "nil", "1", "2.5", "-3",
    "`{{ . }}`", "true", *FUNCTIONS,
])  # fmt: skip


@pytest.mark.medium
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(PARTS, max_size=30).map(" ".join) | st.text())
@example('{{ define "a" }}{{ else }}{{ end }}')
@example("{{ range $a, $b, $c := . }}{{ end }}")
def test_every_template_is_rendered_or_refused(text: str) -> None:
    values = {"list": [1.0, "a", None], "map": {"a": {"b": "c"}}}
    for template in (text, f"{{{{ {text} }}}}"):
        with suppress(TemplateError):
            templates.Interpreter({}, {"a/b": template}).run("a/b", {"Values": values})


ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.medium
@settings(max_examples=500)
@given(st.sampled_from(sorted(FUNCTIONS)), st.lists(ANY, max_size=4))
def test_every_template_call_has_a_result_or_is_refused(name: str, arguments: list[object]) -> None:
    with suppress(TemplateError):
        call(name, arguments)
