"""docs/running.md says of settings, limits and protections what holds."""

from __future__ import annotations

import re
import tomllib

from streamlit import config
from streamlit.web.server.starlette.starlette_routes import ROUTE_HEALTH, ROUTE_METRICS

from calib.settings import DECLARED, SETTINGS, Setting
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")
DELIVERED = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))


def rows(prefix: str) -> list[tuple[str, ...]]:
    """Cells of the tables' rows whose first cell begins so."""
    lines = [line for line in PAGE.splitlines() if line.startswith(f"| `{prefix}")]
    return [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in lines]


def row(declared: Setting) -> tuple[str, ...]:
    plain = isinstance(declared.default, str) and not declared.otherwise
    default = f"`{declared.default_text}`" if plain else declared.default_text
    return f"`{declared.name}`", declared.meaning, default


def test_the_table_of_settings_is_what_is_declared():
    documented = [found for found in rows("CALIB_") if found[0].strip("`") in SETTINGS and len(found) == 3]
    assert [found for found in documented if not found[1].startswith("`data/`")] == [row(each) for each in DECLARED]


def test_the_table_of_streamlits_settings_is_what_it_does():
    options = {option.env_var: option for option in config.get_config_options().values()}
    here = {name.strip("`"): value for name, _, value in rows("STREAMLIT_")}
    for name, value in here.items():
        section, _, key = options[name].key.partition(".")
        found = DELIVERED.get(section, {}).get(key, options[name].default_val)
        if isinstance(found, list):
            assert value == (f"`{' '.join(found)}`" if found else "none"), name
        elif isinstance(found, int):
            assert value == f"{found:,}" or value == str(found), name
        else:
            assert not found and value.startswith(("none", "all")), name
    assert len(here) >= 7


def test_the_proxy_takes_what_the_app_takes_and_keeps_its_paths():
    (size,) = re.findall(r"client_max_body_size (\d+)m;", PAGE)
    default = SETTINGS["CALIB_UPLOAD_MB"].default
    assert isinstance(default, int) and 0 < int(size) - default < 16
    assert f"location = /{ROUTE_METRICS} " in PAGE
    assert f"`GET /{ROUTE_HEALTH}`" in PAGE


def test_the_page_is_found_from_the_readme():
    assert "(docs/running.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    anchors = {
        re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-")
        for title in re.findall(r"^#+ (.*)$", PAGE, re.M)
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", PAGE)) <= anchors
