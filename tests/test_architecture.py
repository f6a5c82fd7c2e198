"""Imports point one way, and importing the library loads NumPy alone."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.conftest import ROOT

PACKAGE = ROOT / "calib"

# From the bottom up; a module imports only from its own layer and those below, also inside functions.
LAYERS = (
    ("errors", "numerics", "formatting"),
    ("arrays", "parameters", "settings", "records"),
    ("canonical",),
    ("outputs",),
    ("isolation",),
    ("base",),
    ("registry",),
    ("calibrators", "data"),
    ("metrics",),
    ("engine",),
    ("evaluation",),
    ("decisions",),
    ("export",),
    ("diagnostics", "apply", "store"),
    ("auditing", "tasks"),
    ("plots", "active_learning"),
    ("reporting",),
    ("adapters", "cli", "sklearn", "ui"),
    ("__main__",),
)
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}

# Who alone may import what; an empty tuple is nobody but the root's app and pages.
ONLY_IN = {
    "streamlit": ("ui",),
    "plotly": ("plots", "reporting", "ui"),
    "tensorflow": ("calibrators",),
    "gpflow": ("calibrators",),
    "tensorflow_probability": ("calibrators",),
    "dask": ("engine",),
    "distributed": ("engine",),
    "river": ("active_learning",),
    "jinja2": ("reporting",),
    "torch": ("adapters", "export"),
    "torchmetrics": ("adapters",),
    "mlflow": ("adapters",),
    "inspect_ai": ("adapters",),
    "lm_eval": ("adapters",),
    "onnx": ("export",),
}

FILES = sorted(PACKAGE.rglob("*.py"))

# The few files under 35 lines, each with its reason; everything else that short belongs to another file.
SHORT = {
    "__main__.py": "what `python -m calib` runs, which Python looks for under this name",
    "calibrators/histogram.py": "a method has a file of its own, however little it does",
    "calibrators/identity.py": "a method has a file of its own, however little it does",
    "cli/audit.py": "a command has a file of its own, as all others have",
}


def part_of(path: Path) -> str:
    """First name below calib: a module's own name or its package's."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def imported(path: Path) -> list[tuple[int, str]]:
    """Line and dotted name of everything a file imports, also inside functions, and for type checking too."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno} imports relatively; write the full name"
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            text = (
                ast.unparse(node.args[0]).lstrip("f").strip("'\"")
            )  # a variable begins with no package of ours
            found += [(node.lineno, text)] if text.startswith("calib.") else []
    return found


ROOMS = {
    "root": ("calib/*.py",),
    "calibrators": ("calib/calibrators/**/*.py",),
    "data": ("calib/data/**/*.py",),
    "isolation, store, engine": ("calib/isolation/**/*.py", "calib/engine/**/*.py", "calib/store/**/*.py"),
    "metrics, evaluation": ("calib/metrics/**/*.py", "calib/evaluation/**/*.py"),
    "decisions": ("calib/decisions/**/*.py",),
    "diagnostics": ("calib/diagnostics/**/*.py",),
    "auditing": ("calib/auditing/**/*.py",),
    "tasks": ("calib/tasks/**/*.py",),
    "plots": ("calib/plots/**/*.py",),
    "reporting, export": ("calib/reporting/**/*.py", "calib/export/**/*.py"),
    "ui": ("calib/ui/**/*.py",),
    "cli, sklearn, active_learning, apply, adapters": (
        "calib/cli/**/*.py", "calib/sklearn/**/*.py", "calib/active_learning/**/*.py", "calib/apply/**/*.py",
        "calib/adapters/**/*.py",
    ),
    "tests": ("tests/**/*.py",),
    "benchmarks": ("benchmarks/**/*.py",),
}  # fmt: skip
"""The files of each room, whose most lines stand in pyproject.toml under [tool.calib.lines]."""
DOCSTRING_ALONE = 12
"""Lines up to which a file is not counted."""


def line_count(path: Path) -> int:
    """Number of lines of a file."""
    return path.read_text(encoding="utf-8").count("\n")


def faults_of_sizes(sizes: dict[str, int], most: dict[str, int]) -> list[str]:
    """Name the rooms above their number, and those so far below it that the number has to follow."""
    found = [
        f"{room}: {size:,} lines, above {most[room]:,}"
        for room, size in sizes.items()
        if size > most[room]
    ]
    low = [room for room, size in sizes.items() if size < 0.98 * most[room]]
    return found + [
        f"{room}: lower its number in pyproject.toml to {sizes[room]:,}" for room in low
    ]


def test_rooms_only_shrink():
    most = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["calib"][
        "lines"
    ]
    sizes = {
        room: sum(line_count(path) for pattern in patterns for path in ROOT.glob(pattern))
        for room, patterns in ROOMS.items()
    }
    sizes["files of calib"] = sum(line_count(path) > DOCSTRING_ALONE for path in FILES)
    assert sizes.keys() == most.keys()
    assert not (faults := faults_of_sizes(sizes, most)), "\n".join(faults)


def test_every_file_of_calib_is_in_one_room():
    found = [
        path for patterns in ROOMS.values() for pattern in patterns for path in ROOT.glob(pattern)
    ]
    assert sorted(path for path in found if PACKAGE in path.parents) == FILES


def test_sizes_may_lie_up_to_two_percent_below_their_number():
    assert not faults_of_sizes({"data": 980}, {"data": 1000}) + faults_of_sizes(
        {"data": 1000}, {"data": 1000}
    )
    assert faults_of_sizes({"data": 1001}, {"data": 1000}) == ["data: 1,001 lines, above 1,000"]
    assert "lower its number" in faults_of_sizes({"data": 979}, {"data": 1000})[0]


def test_the_root_stays_small_and_no_file_is_a_fragment():
    files = {str(path.relative_to(PACKAGE)): path for path in FILES if path.name != "__init__.py"}
    assert len([name for name in files if "/" not in name and name != "__main__.py"]) <= 11
    short = {name for name, path in files.items() if line_count(path) < 35}
    assert short <= set(SHORT), f"fold {sorted(short - set(SHORT))} into the files that use them"


def test_no_function_hides_a_module_of_its_name():
    """``calib.data.load`` was a function, and a module that only ``sys.modules`` had."""
    hidden = []
    for init in PACKAGE.rglob("__init__.py"):
        package = ".".join(init.parent.relative_to(ROOT).parts)
        submodules = {path.stem for path in init.parent.iterdir()} - {"__init__"}
        statements = ast.parse(init.read_text(encoding="utf-8")).body
        statements += [
            inner for node in statements if isinstance(node, ast.If) for inner in node.body
        ]
        for node in statements:
            if isinstance(node, ast.ImportFrom) and node.module != package:
                names = {alias.asname or alias.name for alias in node.names}
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                names = {node.name}
            else:
                continue
            hidden += [f"{package}.{name}" for name in names & submodules]
    assert hidden == []


def test_imports_point_one_way():
    back = []
    for path in FILES:
        part = part_of(path)
        if part == "__init__":
            continue  # the public names, taken from everywhere
        for line, name in imported(path):
            top, _, rest = name.partition(".")
            target = rest.split(".")[0]
            if (part, target) == ("registry", "calibrators"):
                continue  # it names the modules of the methods
            if top == "calib" and target in LEVEL and LEVEL[target] > LEVEL[part]:
                back.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert not back, "\n".join(back)


def test_an_import_by_name_counts_as_any_other(tmp_path):
    (tmp_path / "module.py").write_text(
        'import_module("calib.reporting.notebook")\nimport_module(f"calib.{name}")'
    )
    assert [name for _, name in imported(tmp_path / "module.py")] == [
        "calib.reporting.notebook",
        "calib.{name}",
    ]


def test_no_files_import_each_other_in_a_circle():
    names = {
        path: ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in FILES
    }
    modules = set(names.values())
    # An __init__ that only offers the names of its files is left out; a calibrator's package holds code there.
    graph = {
        module: {name if name in modules else name.rpartition(".")[0] for _, name in imported(path)}
        - {module}
        for path, module in names.items()
        if path.name != "__init__.py" or path.parents[1].name == "calibrators"
    }
    graph = {module: targets & set(graph) for module, targets in graph.items()}
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_the_public_names_are_there_whatever_is_imported_first():
    code = "import {first}, calib; print(*(getattr(calib, name).__name__ for name in {names!r}))"
    names = ("runtime", "metrics", "export", "compare")
    modules = ["export.runtime", "metrics", "export", "auditing.compare"]
    for order in (modules, modules[::-1]):
        first = ", ".join(f"calib.{module}" for module in order)
        done = subprocess.run(
            [sys.executable, "-c", code.format(first=first, names=names)],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert done.stdout.split() == [
            "calib.export.runtime", "calib.metrics", "calib.export", "compare",
        ], done.stderr  # fmt: skip


def test_heavy_libraries_stay_where_they_belong():
    strayed = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in FILES
        for line, name in imported(path)
        if (library := name.split(".")[0]) in ONLY_IN and part_of(path) not in ONLY_IN[library]
    ]
    assert not strayed, "\n".join(strayed)


def test_what_is_imported_is_declared():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "optional-dependencies"
    ]
    declared = {
        re.split(r"[\[<>=;!~ ]", name)[0].lower() for names in extras.values() for name in names
    }
    distributions = packages_distributions()
    used = {name.split(".")[0] for path in FILES for _, name in imported(path)} - set(
        sys.stdlib_module_names
    )
    for module in used - {
        "calib",
        "numpy",
        "google",
        "torch",
        "torchmetrics",
        "mlflow",
        "inspect_ai",
        "lm_eval",
    }:  # adapters to what is there
        names = {name.lower() for name in distributions.get(module, [module])}
        assert names & declared, f"pyproject.toml declares no package with the module {module}"
    assert "protobuf" in declared  # of the namespace google


def test_importing_loads_numpy_alone():
    calibrators = [
        f"calib.calibrators.{path.stem}" for path in sorted((PACKAGE / "calibrators").glob("[!_]*"))
    ]
    modules = [
        "calib",
        "calib.cli",
        "calib.metrics",
        "calib.export.runtime",
        "calib.export.writer",
        *calibrators,
    ]
    # What NumPy loads by itself differs between its versions, so it is measured first.
    code = f"""
import sys, importlib, numpy
before = {{name.partition(".")[0] for name in sys.modules}}
for module in {modules!r}:
    importlib.import_module(module)
after = {{name.partition(".")[0] for name in sys.modules}}
print(*sorted(after - before - set(sys.stdlib_module_names)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["calib"]
