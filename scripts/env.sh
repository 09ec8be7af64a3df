# Sourced by the other scripts: a virtual environment in $VENV (default .venv) with kcheck and the extras given in $EXTRAS.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
VENV=${VENV:-.venv}
PYTHON=${PYTHON:-python3}
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "kcheck needs Python 3.11 or newer" >&2; exit 2; }
wanted="${EXTRAS:-none} $(cksum < pyproject.toml)"
if [ ! -x "$VENV/bin/kcheck" ] || [ "$(cat "$VENV/.installed" 2>/dev/null)" != "$wanted" ]; then
  [ -x "$VENV/bin/python" ] || "$PYTHON" -m venv "$VENV"
  "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --editable ".${EXTRAS:+[$EXTRAS]}"
  printf '%s' "$wanted" > "$VENV/.installed"
fi
