"""Test the editor configurations in the documentation: each installed editor starts the server and shows findings."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import termios
import time
from typing import TYPE_CHECKING

import pytest

from tests.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("pygls")

RULE = "single-nat-gateway"
"""A rule that finds a line of vpc.tf."""
PATIENCE = 60


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with the EKS example; `kcheck` is in PATH, and the user has no settings."""
    folder = tmp_path / "repository"
    shutil.copytree(ROOT / "examples" / "eks-training", folder)
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable), prepend=os.pathsep)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    return folder


def snippet(name: str) -> str:
    """Return the configuration that docs/editors.md prints for an editor."""
    text = (ROOT / "docs" / "editors.md").read_text()
    found = re.search(rf"^<!-- {re.escape(name)} -->\n```\w+\n(.*?)^```\n<!-- /", text, re.MULTILINE | re.DOTALL)
    assert found is not None, name
    return found[1]


def installed(program: str, *arguments: str) -> tuple[str, tuple[int, ...]]:
    """Return the path of an editor and its version; skip the test if it is not installed."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed")
    said = subprocess.run([path, *arguments], capture_output=True, text=True, check=True).stdout
    version = re.search(r"\d+\.\d+", said)
    assert version is not None
    return path, tuple(map(int, version[0].split(".")))


NEOVIM = """
vim.cmd.edit('vpc.tf')
vim.bo.filetype = 'terraform'
vim.wait({patience}, function() return #vim.diagnostic.get(0) > 0 end, 50)
local found = {{}}
for _, one in ipairs(vim.diagnostic.get(0)) do table.insert(found, one.code .. ' ' .. one.source) end
io.stdout:write(table.concat(found, '\\n'))
vim.cmd.quitall({{ bang = true }})
"""


@pytest.mark.parametrize(("name", "first", "last"), [("neovim", (0, 11), (9, 0)), ("neovim 0.10", (0, 8), (9, 0))])
def test_the_guide_for_neovim_works(
    name: str, first: tuple[int, int], last: tuple[int, int], repository: Path, tmp_path: Path
) -> None:
    nvim, version = installed("nvim", "--version")
    if not first <= version <= last:
        pytest.skip(f"this is for Neovim {first[0]}.{first[1]} and newer")
    settings = tmp_path / "init.lua"
    settings.write_text(snippet(name))
    script = tmp_path / "script.lua"
    script.write_text(NEOVIM.format(patience=PATIENCE * 1000))
    run = subprocess.run(
        [nvim, "--headless", "-i", "NONE", "-u", settings, "-c", f"luafile {script}"],
        capture_output=True, text=True, timeout=2 * PATIENCE, check=True,
    )  # fmt: skip
    assert f"{RULE} kcheck" in run.stdout, run.stderr


EMACS = """
(setq make-backup-files nil inhibit-message nil)
(unless (require 'terraform-mode nil t)
  (define-derived-mode terraform-mode prog-mode "Terraform"))
(add-to-list 'auto-mode-alist '("\\\\.tf\\\\'" . terraform-mode))
"""
EGLOT = """
(require 'eglot)
(setq eglot-sync-connect 30 eglot-autoshutdown t)
(with-current-buffer (find-file-noselect "vpc.tf")
  (run-hooks 'post-command-hook)
  (with-timeout ({patience})
    (while (not (flymake-diagnostics)) (accept-process-output nil 0.1) (flymake-start)))
  (dolist (one (flymake-diagnostics)) (princ (format "%s\\n" (flymake-diagnostic-text one))))
  (eglot-shutdown-all))
"""
LSP_MODE = """
(require 'lsp-mode)
(setq lsp-auto-guess-root t lsp-restart 'ignore lsp-enable-file-watchers nil lsp-warn-no-matched-clients nil
      lsp-log-io nil lsp-session-file (expand-file-name "session" (getenv "HOME")))
(with-current-buffer (find-file-noselect "vpc.tf")
  (lsp)
  (with-timeout ({patience})
    (while (not (gethash (expand-file-name "vpc.tf") (lsp-diagnostics t))) (accept-process-output nil 0.1)))
  (dolist (one (gethash (expand-file-name "vpc.tf") (lsp-diagnostics t)))
    (princ (format "%s\\n" (lsp:diagnostic-code? one)))))
"""


@pytest.mark.parametrize(("name", "script"), [("emacs eglot", EGLOT), ("emacs lsp-mode", LSP_MODE)])
def test_the_guide_for_emacs_works(name: str, script: str, repository: Path, tmp_path: Path) -> None:
    emacs, _ = installed("emacs", "--version")
    library = name.split()[1]
    probe = f"(progn (package-initialize) (unless (require '{library} nil t) (kill-emacs 9)))"
    if subprocess.run([emacs, "--batch", "--eval", probe], capture_output=True, check=False).returncode == 9:
        pytest.skip(f"{library} is not installed")
    file = tmp_path / "init.el"
    file.write_text(f"(package-initialize)\n{EMACS}\n{snippet(name)}\n{script.format(patience=PATIENCE)}")
    run = subprocess.run(
        [emacs, "--batch", "-l", file], capture_output=True, text=True, timeout=2 * PATIENCE, check=False
    )
    assert "NAT gateway" in run.stdout or RULE in run.stdout, run.stderr


def test_the_guide_for_helix_works(repository: Path, tmp_path: Path) -> None:
    hx, _ = installed("hx", "--version")
    settings = tmp_path / "home" / "helix" / "languages.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(snippet("helix"))
    log = tmp_path / "helix.log"
    log.touch()
    terminal, its_end = pty.openpty()
    termios.tcsetwinsize(its_end, (40, 120))
    process = subprocess.Popen(
        [hx, "-vv", "--log", log, "vpc.tf"], stdin=its_end, stdout=its_end, stderr=its_end, start_new_session=True
    )
    end = time.monotonic() + PATIENCE
    while RULE not in log.read_text() and time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            os.read(terminal, 65536)
    process.terminate()
    process.wait(PATIENCE)
    os.close(terminal)
    os.close(its_end)
    assert RULE in log.read_text()
