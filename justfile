# `just NAME`; each recipe is one plain command that works without just as well.

# list the recipes
default:
    @just --list

# install for development, into the active environment
install:
    pip install -e '.[dev]'

# ruff, ruff format and mypy
lint:
    ruff check .
    ruff format --check .
    mypy --strict src

# fix what ruff can fix
format:
    ruff check --fix .
    ruff format .

# tests, or a part of them: just test tests/sandbox
test *ARGS:
    pytest {{ ARGS }}

# tests with the coverage of each file (of this process; what runs in the sandbox is not counted)
coverage *ARGS:
    pytest --cov=refute --cov-report=term-missing:skip-covered {{ ARGS }}

# how large the house is, beside the ceilings of house.toml
house:
    python -P tests/house.py

# what moved in runs as a user makes them and in counted rows since it was last written down: about
# five minutes on two cores; --write: write it down
pins *ARGS:
    python -m tests.pins {{ ARGS }}

# how long each file of tests takes, into tests/durations.json: the longest are begun first
durations *ARGS:
    pytest --record-durations {{ ARGS }}

# wheel and sdist into dist, checked and tried in empty environments
wheel:
    python benchmarks/distribution.py -o dist

# everything, in a fresh environment, as before a merge
ci:
    .ci/run

# the documentation site, into docs/_build; what documents show of commands is filled in first
docs:
    python docs/outputs.py README.md docs/tutorial.md
    sphinx-build -W -q docs docs/_build

# tests on a Ray cluster of this machine, which the other tests leave out where ray is not installed
cluster:
    pip install -e '.[dev,cluster]'
    pytest -n 0 tests/runs tests/issue/grading/test_elsewhere.py
