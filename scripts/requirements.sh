#!/bin/sh
# Compiles the requirement files: exact versions with hashes, for every platform and Python >= 3.11.
set -eu
cd "$(dirname "$0")/.."
uv=$(command -v uv || echo .tools/bin/uv)
compile() {
    "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
        --custom-compile-command "make requirements" "$@"
}
compile pyproject.toml -o requirements/run.txt
compile pyproject.toml --extra all --constraint requirements/run.txt -o requirements/all.txt
compile pyproject.toml --extra all --group dev --constraint requirements/all.txt -o requirements/dev.txt
compile pyproject.toml --group bench --constraint requirements/run.txt -o requirements/bench.txt
echo uv | compile - --no-annotate -o requirements/uv.txt
