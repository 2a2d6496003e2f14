"""The files for a public server name things that exist, and the app behaves as they expect."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import streamlit
from streamlit import config

from explorer.sandbox.options import VARIABLES
from tests import proxy_headers
from tests.conftest import running_app
from tests.test_serving import shake_hands

ROOT = Path(__file__).parents[1]
#: Programs that only the tests need.
TESTING = ("chromium", "haproxy")


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions in order, each on one line."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if line[:1] != "#"]
    joined = "\n".join(lines).replace("\\\n", " ")
    pairs = (line.split(maxsplit=1) for line in joined.splitlines() if line.strip())
    return [(name, rest.strip()) for name, rest in pairs]


def arguments(name: str) -> list[str]:
    return [rest for keyword, rest in instructions() if keyword == name]


def variables(file: str) -> dict[str, str]:
    lines = (ROOT / file).read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and line[0] != "#")


def image_environment() -> dict[str, str]:
    return dict(part.split("=", 1) for rest in arguments("ENV") for part in shlex.split(rest))


def health_check() -> list[str]:
    """The command, with this Python instead of the image's."""
    (rest,) = arguments("HEALTHCHECK")
    _, first, *others = ["", *json.loads(rest[rest.index("[") :])]
    assert first == "python"
    return [sys.executable, *others]


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app with the settings of a public server, but this machine's address."""
    settings = variables("deploy/public.env") | {"STREAMLIT_SERVER_ALLOWED_HOSTS": "127.0.0.1"}
    settings["STREAMLIT_BROWSER_SERVER_ADDRESS"] = "127.0.0.1"
    with running_app(tmp_path_factory.mktemp("public") / "log", **settings) as url:
        yield url


def test_every_file_the_image_copies_exists_and_is_not_ignored() -> None:
    listed = (ROOT / ".dockerignore").read_text().splitlines()
    not_ignored = {line[1:] for line in listed if line.startswith("!")}
    copied = {name for rest in arguments("COPY") for name in rest.split()[:-1]}
    assert copied == not_ignored
    for name in copied:
        assert (ROOT / name).exists(), name


def test_the_image_runs_as_an_ordinary_user_that_it_creates() -> None:
    names = [name for name, _ in instructions()]
    (user,) = arguments("USER")
    assert names.index("USER") < names.index("CMD")
    number = user.split(":")[0]
    assert int(number) > 0
    assert any(f"useradd --uid {number} " in rest for rest in arguments("RUN"))


def test_the_image_installs_the_packages_of_packages_txt() -> None:
    """One list for the image and for Community Cloud: everything CI installs to run the app."""
    packages = (ROOT / "packages.txt").read_text().split()
    assert any("xargs -a packages.txt apt-get install" in rest for rest in arguments("RUN"))
    needed = re.findall(r"^need (\S+) (\S+)", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert set(packages) == {package for program, package in needed if program not in TESTING}


def test_the_image_installs_the_pinned_torch() -> None:
    pattern = re.search(r"grep -E '([^']+)' requirements.txt", (ROOT / "Dockerfile").read_text())
    assert pattern is not None
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    names = [line.split("==")[0] for line in lines if re.search(pattern[1], line)]
    assert sorted(names) == ["torch", "torchvision"]


@pytest.mark.parametrize("file", ["Dockerfile", "deploy/public.env"])
def test_every_setting_exists(file: str) -> None:
    settings = image_environment() if file == "Dockerfile" else variables(file)
    known = {option.env_var for option in config.get_config_options().values()}
    for name in settings:
        if name.startswith("STREAMLIT_"):
            assert name in known, name
        elif name.startswith("EXPLORER_"):
            assert name in VARIABLES, name


@pytest.mark.thorough
def test_the_health_check_fails_without_an_app(public: str) -> None:
    def status(port: int) -> int:
        environment = os.environ | image_environment() | {"STREAMLIT_SERVER_PORT": str(port)}
        return subprocess.run(health_check(), env=environment, capture_output=True).returncode

    port = urlsplit(public).port
    assert port is not None
    limit = time.monotonic() + 60  # until each page was opened, which the first check asks for
    while status(port) and time.monotonic() < limit:
        time.sleep(0.5)
    assert status(port) == 0
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        assert status(unused.getsockname()[1]) != 0


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("host", "origin", "answer"),
    [
        ("127.0.0.1", "http://127.0.0.1", 101),
        ("elsewhere.example.org", "http://elsewhere.example.org", 403),
        ("127.0.0.1", "http://elsewhere.example.org", 403),
    ],
)
def test_sessions_are_opened_only_under_the_named_host(
    public: str, host: str, origin: str, answer: int
) -> None:
    assert shake_hands(urlsplit(public).port or 0, origin, Host=host) == answer


#: How each proxy says which paths are closed.
RULES = {
    "nginx.conf": r"location ~ (\S+) \{",
    "Caddyfile": r"@closed path_regexp (\S+)",
    "haproxy.cfg": r"path,url_dec -m reg (\S+)",
}


def test_the_proxies_close_the_same_paths() -> None:
    """tests/test_replicas.py requests them."""
    rules = {re.search(rule, (ROOT / "deploy" / f).read_text())[1] for f, rule in RULES.items()}
    assert len(rules) == 1


def test_compose_gives_the_proxy_its_files_and_the_port_of_the_image() -> None:
    compose = (ROOT / "deploy/compose.yaml").read_text()
    mounted = dict(re.findall(r"- \./(\S+):(/etc/haproxy/\S+):ro", compose))
    assert all((ROOT / "deploy" / name).exists() for name in mounted)
    (command,) = re.findall(r"command: \[(haproxy.+)\]", compose)
    assert re.findall(r"-f, ([^,]+)", command) == list(mounted.values())
    servers = (ROOT / "deploy/haproxy-compose.cfg").read_text()
    assert f"app:{image_environment()['STREAMLIT_SERVER_PORT']}" in servers


def test_the_proxies_add_the_same_headers() -> None:
    headers = proxy_headers.nginx()
    two_cookies = 2
    added = (ROOT / "deploy/nginx.conf").read_text().count("add_header")
    assert len(headers) == added - two_cookies
    assert headers == proxy_headers.caddy() == proxy_headers.haproxy()
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"


def test_the_policy_allows_the_inline_scripts_of_the_installed_streamlit_alone() -> None:
    """A new version may have another: then replace the hash in both files."""
    page = Path(streamlit.__file__).with_name("static") / "index.html"
    scripts = re.findall(r"<script>(.*?)</script>", page.read_text(encoding="utf-8"), re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    policy = proxy_headers.nginx()[proxy_headers.POLICY]
    assert re.findall(r"'sha256-(.+?)'", policy) == digests
    (allowed,) = re.findall("script-src ([^;]+);", policy)
    assert "unsafe-inline" not in allowed
    assert "unsafe-eval" not in allowed.replace("wasm-unsafe-eval", "")


@pytest.mark.skipif(not shutil.which("nginx"), reason="no nginx")
def test_nginx_accepts_its_file(tmp_path: Path) -> None:
    site, whole = ROOT / "deploy/nginx.conf", tmp_path / "nginx.conf"
    whole.write_text(f"pid {tmp_path}/pid; events {{}} http {{ include {site}; }}")
    command = ["nginx", "-t", "-c", str(whole), "-e", str(tmp_path / "errors")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "syntax is ok" in done.stderr, done.stderr


@pytest.mark.skipif(not shutil.which("haproxy"), reason="no haproxy")
@pytest.mark.parametrize("replicas", ["machines", "compose"])
def test_haproxy_accepts_its_files(replicas: str) -> None:
    files = ["-f", "deploy/haproxy.cfg", "-f", f"deploy/haproxy-{replicas}.cfg"]
    done = subprocess.run(["haproxy", "-c", *files], cwd=ROOT, capture_output=True, text=True)
    assert "Configuration file is valid" in done.stdout, done.stderr


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd")
def test_systemd_accepts_its_unit(tmp_path: Path) -> None:
    """With programs of this machine in the place of the server's."""
    unit = (ROOT / "deploy/autograd-explorer@.service").read_text()
    unit = unit.replace("/srv/autograd/.venv/bin/python", sys.executable)
    unit = unit.replace("/usr/bin/curl", sys.executable)
    (tmp_path / "autograd-explorer@8501.service").write_text(unit)
    command = ["systemd-analyze", "verify", str(tmp_path / "autograd-explorer@8501.service")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not shutil.which("caddy"), reason="no caddy")
def test_caddy_accepts_its_file() -> None:
    command = ["caddy", "adapt", "--adapter", "caddyfile", "--config", "deploy/Caddyfile"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
