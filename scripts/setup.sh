#!/bin/sh
# Makes the project's environment (.venv) from nothing but Python >= 3.11 and the package registries.
# uv is taken from the PATH when it is there, otherwise it is put into a private environment (.tools).
set -eu
cd "$(dirname "$0")/.."

find_python() {
    for candidate in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 python; do
        if command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            command -v "$candidate"
            return
        fi
    done
    echo "recrawl needs Python 3.11 or newer; set PYTHON=/path/to/python3 if it is not on the PATH" >&2
    exit 1
}

python=$(find_python)
if command -v uv >/dev/null 2>&1; then
    uv=uv
else
    if [ ! -x .tools/bin/uv ]; then
        echo "setting up uv in .tools" >&2
        "$python" -m venv .tools
        .tools/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
    fi
    uv=.tools/bin/uv
fi

echo "setting up .venv" >&2
UV_PYTHON_DOWNLOADS=never
export UV_PYTHON_DOWNLOADS
[ -x .venv/bin/python ] || "$uv" venv --quiet --python "$python" .venv
"$uv" pip sync --quiet --python .venv/bin/python --require-hashes requirements/dev.txt
"$uv" pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation --editable .
touch .venv/.ready
