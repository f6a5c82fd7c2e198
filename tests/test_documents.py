"""README, guides, docs and container files: examples run, links lead somewhere, and numbers agree with the code."""

from __future__ import annotations

import doctest
import importlib
import json
import os
import pkgutil
import re
import subprocess
import sys
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from PIL import Image, ImageSequence
from streamlit import config
from streamlit.web.server.starlette.starlette_routes import ROUTE_HEALTH

from calib.isolation.client import LIBRARIES
from calib.registry import METHODS
from calib.settings import DECLARED, SETTINGS, Setting
from calib.ui.menu import MENU
from site_builder import methods
from tests.conftest import DOCUMENTS, ROOT


def anchors(path: Path) -> set[str]:
    """What a link into a document can name after its ``#``, as git hosts make it of headings."""
    titles = re.findall(
        r"^#+ (.*)$",
        re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL),
        re.M,
    )
    return {re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_and_pictures_lead_somewhere(document: str) -> None:
    here = ROOT / document
    dead = []
    for target, anchor in re.findall(
        r"\]\(([^)#:]*)(?:#([^)]*))?\)", here.read_text(encoding="utf-8")
    ):
        path = here.parent / target if target else here
        if not path.exists() or (anchor and anchor not in anchors(path)):
            dead.append(f"{target}#{anchor}")
    assert not dead


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_names_of_the_package_in_a_document_are_there(document: str) -> None:
    text = re.sub(
        r"```python\n.*?```", "", (ROOT / document).read_text(encoding="utf-8"), flags=re.DOTALL
    )  # these run
    names = re.findall(r"(?<![\w/.-])calib(?:\.\w+)+", text)
    names += re.findall(r"(?<=-m )benchmarks\.\w+", text)
    names = [
        name for name in names if name not in NO_MODULES and not name.startswith("calib.adapters.")
    ]
    missing = {
        name for name in names if not is_there(name)
    }  # adapters import packages that need not be there
    assert not missing


NO_MODULES = {"calib.example.org", "calib.log"}


def is_there(name: str) -> bool:
    """Whether a dotted name leads from a package through modules to what they hold."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def test_the_animation_of_the_readme_is_small_and_lasts_about_twelve_seconds() -> None:
    path = ROOT / "docs" / "animation.webp"
    assert path.name in (ROOT / "README.md").read_text(encoding="utf-8")
    assert path.stat().st_size < 1.5e6
    milliseconds = 0
    with Image.open(path) as animation:
        for frame in ImageSequence.Iterator(animation):
            frame.load()
            milliseconds += frame.info["duration"]
    assert 10_000 < milliseconds < 15_000


def test_the_table_of_pages_is_the_menu():
    first = (ROOT / "docs" / "pages.md").read_text(encoding="utf-8").partition("\n## ")[0]
    lines = first.splitlines()
    titles = {
        line.split(" | ")[0].removeprefix("| ") for line in lines if line.startswith("| ")
    } - {"page"}
    assert titles == {entry.title for entries in MENU.values() for entry in entries}


@pytest.mark.parametrize("name", METHODS)
def test_the_site_explains_each_letter_of_a_formula(name: str) -> None:
    letters = re.findall(
        "[A-Za-z]", re.sub(r"\\(?:text|mathrm)\{[^}]*\}|\\\w+", "", METHODS[name].formula)
    )
    symbols = [line.partition(": ")[0] for line in methods.symbols(METHODS[name]).splitlines()]
    shown = "".join(re.sub(r"<[^>]*>", " ", symbol) for symbol in symbols)
    assert letters and not [letter for letter in letters if letter not in shown]


def test_the_table_of_calibrators_is_the_registry():
    names = set(
        re.findall(
            r"^\| `(\w+)` \|",
            (ROOT / "docs" / "guide" / "methods.md").read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    )
    assert names == set(METHODS) - {"identity"}


PAGE = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")


def rows(prefix: str) -> list[tuple[str, ...]]:
    """Cells of the tables' rows whose first cell begins so."""
    lines = [line for line in PAGE.splitlines() if line.startswith(f"| `{prefix}")]
    return [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in lines]


def row(declared: Setting) -> tuple[str, ...]:
    plain = isinstance(declared.default, str) and not declared.otherwise
    default = f"`{declared.default_text}`" if plain else declared.default_text
    return f"`{declared.name}`", declared.meaning, default


def test_the_table_of_settings_is_what_is_declared():
    documented = [
        found for found in rows("CALIB_") if found[0].strip("`") in SETTINGS and len(found) == 3
    ]
    assert [found for found in documented if not found[1].startswith("`records/`")] == [
        row(each) for each in DECLARED
    ]


INSTRUCTIONS = [
    tuple(line.split(maxsplit=1))
    for line in re.sub(
        r"\\\n", "", re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    ).splitlines()
    if line.strip()
]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]


def given(instruction: str) -> list[str]:
    return [rest for name, rest in INSTRUCTIONS if name == instruction]


def environment() -> dict[str, str]:
    """What the last stage sets."""
    return dict(pair.split("=", 1) for pair in given("ENV")[-1].split())


def command(instruction: str) -> list[str]:
    return json.loads(
        given(instruction)[-1].partition("[")[1] + given(instruction)[-1].partition("[")[2]
    )


def test_all_that_is_copied_is_there():
    sources = [
        source
        for rest in given("COPY")
        if not rest.startswith("--from")
        for source in rest.split()[:-1]
    ]
    assert sources and all((ROOT / source).exists() for source in sources)


def test_the_app_runs_as_nobody_in_particular():
    user, group = given("USER")[-1].split(":")
    assert int(user) == int(group) > 0
    assert (
        f"--uid {user}" in given("RUN")[-2]
        and f"--owner {user} --group {group}" in given("RUN")[-2]
    )
    names = [name for name, _ in INSTRUCTIONS]
    after = names[names.index("USER") :]
    assert not {"RUN", "COPY"} & set(after)


LOCKS = ("requirements.txt", "requirements-dev.txt", "requirements-gpu.txt")
PINNED = re.compile(r"([a-z0-9._-]+)==([a-z0-9.]+)((?: --hash=sha256:[0-9a-f]{64})+)")


def locked(file: str) -> dict[str, str]:
    """Versions by package, each with the hashes of its files."""
    text = re.sub(
        r" \\\n +", " ", re.sub(r"^#.*\n", "", (ROOT / file).read_text(), flags=re.MULTILINE)
    )
    return dict(PINNED.fullmatch(line).groups()[:2] for line in text.splitlines())  # type: ignore[union-attr]


def test_the_lock_names_one_version_of_each_package_and_no_host():
    app, everything, gpu = map(locked, LOCKS)
    assert app.items() < everything.items() and app.items() < gpu.items()
    assert all(name.startswith("nvidia-") for name in gpu.keys() - app.keys())
    assert not {"pytest", "mypy", "playwright"} & app.keys()


def test_what_is_installed_from_a_lock_is_checked_by_its_hashes():
    for path in ("Makefile", "Dockerfile"):
        lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
        installs = [
            line for line in lines if re.search(r"-r \"?(requirements|\$REQUIREMENTS)", line)
        ]
        assert installs and all("--require-hashes" in line for line in installs), path


def test_the_lock_pins_what_parses_files():
    modules = {name.partition(".")[0] for name in LIBRARIES} - sys.stdlib_module_names
    parsers = {module.replace("_", "-") for module in modules}
    assert {"h5py", "pyarrow", "openpyxl"} < parsers <= locked("requirements.txt").keys()
    text = (ROOT / "docs" / "safety.md").read_text(encoding="utf-8")
    assert all(name in text for name in parsers)


def test_the_lock_lies_within_the_ranges():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    pins = locked("requirements-dev.txt")
    for wanted in map(
        Requirement, [*project["dependencies"], *chain.from_iterable(extras.values())]
    ):
        if wanted.name == project["name"]:
            assert wanted.extras <= extras.keys()
        else:
            assert pins[wanted.name.lower()] in wanted.specifier, wanted


def test_what_is_installed_beside_other_packages_has_floors_alone():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    libraries = [name for name in extras if name not in ("app", "test", "docs", "dev")]
    wanted = [*project["dependencies"], *chain.from_iterable(extras[name] for name in libraries)]
    capped = {
        each.name
        for each in map(Requirement, wanted)
        if any(part.operator != ">=" for part in each.specifier)
    }
    assert capped == {
        "gpflow",
        "setuptools",
    }  # GPflow 2.10 wants NumPy 1, and 2.9 an old setuptools


def test_each_promise_of_safety_names_tests_that_are_there():
    text = (ROOT / "docs" / "safety.md").read_text(encoding="utf-8")
    tests = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")
    )
    assert not [name for name in re.findall(r"`(test_\w+)`", text) if f"def {name}(" not in tests]
    for title in ("What reaches the server", "What an upload cannot do", "What is kept"):
        section = text.partition(f"## {title}\n")[2].partition("\n## ")[0]
        promises = re.split(r"^- ", section, flags=re.MULTILINE)[1:]
        assert promises and all("`test_" in promise for promise in promises), title


def test_the_health_check_asks_where_the_app_answers():
    base = "/team/calib/"
    asked: list[str] = []
    health = "/".join(["", *filter(None, [base.strip("/")]), ROUTE_HEALTH])

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200 if self.path == health else 503)
            self.end_headers()

        def log_message(self, *args: Any) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        check = [sys.executable, *command("HEALTHCHECK")[1:]]
        answers = {}
        for path in (base, "/elsewhere"):
            set_to = {
                "STREAMLIT_SERVER_PORT": str(server.server_port),
                "STREAMLIT_SERVER_BASE_URL_PATH": path,
            }
            answers[path] = subprocess.run(check, env=os.environ | set_to, timeout=300).returncode
        server.shutdown()
    assert asked[0] == health
    assert answers == {base: 0, "/elsewhere": 1}


@pytest.mark.parametrize(("rows", "starts"), [("", True), ("many", False)])
def test_a_wrong_setting_ends_the_container_with_a_sentence(rows, starts, tmp_path):
    for name, does in (("streamlit", 'echo "$@"'), ("python", f'exec "{sys.executable}" "$@"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    found = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "CALIB_ROWS": rows}
    done = subprocess.run(
        command("CMD"),
        cwd=ROOT,
        env=os.environ | found,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.stdout == "run app.py\n") is (done.returncode == 0) is starts
    assert ("CALIB_ROWS='many' must be" in done.stderr) is not starts
    assert "Traceback" not in done.stderr


def test_every_variable_is_read_by_somebody():
    options = config.get_config_options().values()
    known = set(SETTINGS) | {option.env_var for option in options}
    for file in ("Dockerfile", "compose.yaml", "docs/running.md"):
        named = set(re.findall(r"\b(?:CALIB|STREAMLIT)_[A-Z_]+\b", (ROOT / file).read_text()))
        assert named <= known, file
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            assert name in known
            assert not value.startswith("${") or value.startswith(f"${{{name}:-"), (
                f"{name} is set from another name"
            )


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_is_locked_up(name):
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["restart"] and service["mem_limit"] and service["pids_limit"] and service["cpus"]
    folder, _, options = service["tmpfs"].partition(":")
    assert folder == environment()["TMPDIR"] == environment()["HOME"]
    assert {"noexec", "nosuid", "nodev"} < set(options.split(","))
    assert "privileged" not in service and "cap_add" not in service


@pytest.mark.parametrize("name", ["app", "app-gpu"])
def test_what_visitors_may_take_fits_into_the_container(name):
    service = SERVICES[name]
    gigabytes = {
        key: float(service["environment"][f"CALIB_{key}"].partition(":-")[2].rstrip("}"))
        for key in ("SESSION_GB", "UPLOADS_GB")
    }
    folder = int(re.search(r"size=(\d+)m", service["tmpfs"])[1]) * 2**20 / 1e9  # type: ignore[index]
    assert folder > gigabytes["UPLOADS_GB"]
    largest = SETTINGS["CALIB_UPLOAD_MB"].default * 2**20 / 1e9  # type: ignore[operator]
    assert min(gigabytes["SESSION_GB"], gigabytes["UPLOADS_GB"] / 2) > largest
    readers = SETTINGS["CALIB_READERS"].default * 2 * SETTINGS["CALIB_DATA_MB"].default / 1e3  # type: ignore[operator]
    visitors = 2 * gigabytes["SESSION_GB"] + gigabytes["UPLOADS_GB"]
    assert int(service["mem_limit"].rstrip("g")) > folder + visitors + readers + 2


EXAMPLES = [
    path
    for path in sorted((ROOT / "calib").rglob("*.py"))
    if ">>>" in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_examples_of_docstrings_run(path):
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    done = doctest.testmod(importlib.import_module(name))
    assert done.attempted and not done.failed
