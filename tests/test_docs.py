"""The documentation is tested: help, links, pictures, changelog, map of the code."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from judge.cli import main
from scripts.help_pages import command_paths, help_of

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("data/*.md")])
COMMANDS = list(command_paths(main, ()))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_is_helpful(path: tuple[str, ...]) -> None:
    text = help_of(path)
    command = " ".join(("evenhand", *path))
    assert f"<code>{command}</code>" in (ROOT / "README.md").read_text("utf-8")
    if path and path != ("judge",):
        assert "Example: evenhand" in text, f"{command} --help shows no example"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_and_pictures_exist(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} points to missing {target}"


def test_the_map_names_every_module_of_both_packages() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    missing = [
        f"{package}/{module.name}"
        for package in ("annotate", "judge")
        for module in (ROOT / package).rglob("*.py")
        if module.name != "__init__.py" and module.name not in readme
    ]
    assert not missing, f"the README's map does not name {missing}"


def test_changelog_has_outcomes_under_unreleased() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.search(r"^## Unreleased\n- ", text, re.MULTILINE)


def test_nothing_names_a_registry_or_a_machine() -> None:
    hosts = ("pypi" + ".org", "pythonhosted" + ".org", "registry" + ".npmjs", "deb.debian" + ".org")
    for page in [*PAGES, *ROOT.glob("requirements/*"), ROOT / "Makefile", ROOT / "pyproject.toml"]:
        text = page.read_text("utf-8")
        assert not [host for host in hosts if host in text], page
        assert not re.search(r"(?<![\w.])/(?:root|home/\w+)/", text), page


@pytest.mark.parametrize("package", ["annotate", "judge"])
def test_every_public_name_loads_and_is_documented(package: str) -> None:
    module = importlib.import_module(package)
    page = (ROOT / "docs" / "python.md").read_text("utf-8")
    assert sorted(module._HOMES) == sorted(module.__all__)
    for name in module.__all__:
        assert getattr(module, name).__doc__, f"{package}.{name} has no docstring"
        if name[0].islower():
            assert name in page, f"docs/python.md does not name {package}.{name}"
    with pytest.raises(AttributeError):
        _ = module.no_such_name
