# Sourced by the other scripts: a virtual environment in $VENV (default .venv) with kcheck and the extras in $EXTRAS, in the
# versions of constraints.txt, or of the file in $CONSTRAINTS; with CONSTRAINTS= (empty) in the newest that are allowed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
VENV=${VENV:-.venv}
PYTHON=${PYTHON:-python3}
CONSTRAINTS=${CONSTRAINTS-constraints.txt}
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "kcheck needs Python 3.11 or newer" >&2; exit 2; }
unset PYTHONDONTWRITEBYTECODE # of which some images make a default: compiling everything anew is half the time of the tests
BIN=$VENV/bin
[ ! -d "$VENV/Scripts" ] || BIN=$VENV/Scripts # Windows
wanted="${EXTRAS:-none} $(cat pyproject.toml ${CONSTRAINTS:+"$CONSTRAINTS"} | cksum)"
if [ "$(cat "$VENV/.installed" 2> /dev/null)" != "$wanted" ]; then
  [ -d "$BIN" ] || "$PYTHON" -m venv "$VENV"
  [ ! -d "$VENV/Scripts" ] || BIN=$VENV/Scripts
  # PIP_CONSTRAINT also holds for what builds kcheck; pip 25.3 and newer have PIP_BUILD_CONSTRAINT for that
  ${CONSTRAINTS:+env PIP_CONSTRAINT="$CONSTRAINTS" PIP_BUILD_CONSTRAINT="$CONSTRAINTS"} \
    "$BIN/python" -m pip install --quiet --disable-pip-version-check --editable ".${EXTRAS:+[$EXTRAS]}"
  printf '%s' "$wanted" > "$VENV/.installed"
fi
