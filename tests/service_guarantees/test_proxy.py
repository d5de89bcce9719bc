"""The recipe of a reverse proxy, with a real nginx in front of a real service."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.service_guarantees.conftest import EXPERIMENT, create
from tests.service_guarantees.servers import Launcher, free_port, wait_until

RECIPE = Path(__file__).parents[2] / "deploy" / "nginx" / "structuredbandits.conf"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
SLASHED = "a%2Fb%2F%2Fc=="


@pytest.fixture
def proxy(launch: Launcher, tmp_path: Path) -> Iterator[httpx.Client]:
    """A client of the service behind the proxy; only ports and files differ from the recipe."""
    assert NGINX is not None, "install nginx (on Debian 'apt-get install nginx-light')"
    server = launch.start("--db", str(tmp_path / "b.db"), "--insecure")
    create(server)
    certificate, key = tmp_path / "own.pem", tmp_path / "own.key"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    made += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    made += ["-out", str(certificate), "-keyout", str(key)]
    subprocess.run(made, check=True, capture_output=True)
    port = free_port()
    recipe = RECIPE.read_text(encoding="utf-8")
    for given, here in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("server 127.0.0.1:8000", f"server 127.0.0.1:{server.port}"),
        ("/etc/ssl/certs/bandits.example.pem", str(certificate)),
        ("/etc/ssl/private/bandits.example.key", str(key)),
        # Without keys the service accepts only its own address.
        ("proxy_set_header Host $host", f"proxy_set_header Host 127.0.0.1:{server.port}"),
    ):
        assert recipe.count(given) == 1
        recipe = recipe.replace(given, here)
    temporary = "".join(
        f"{name}_temp_path {tmp_path}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    whole = tmp_path / "nginx.conf"
    whole.write_text(
        f"daemon off;\nmaster_process off;\npid {tmp_path}/nginx.pid;\n"
        f"events {{}}\nhttp {{\naccess_log off;\n{temporary}\n{recipe}\n}}\n",
        encoding="utf-8",
    )
    command = [NGINX, "-p", str(tmp_path), "-e", str(tmp_path / "error.log"), "-c", str(whole)]
    running = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        trusted = ssl.create_default_context(cafile=str(certificate))
        url = f"https://127.0.0.1:{port}"
        with httpx.Client(base_url=url, verify=trusted, timeout=60.0) as client:

            def answers() -> bool:
                assert running.poll() is None, (tmp_path / "error.log").read_text(encoding="utf-8")
                with socket.socket() as line:
                    return line.connect_ex(("127.0.0.1", port)) == 0

            wait_until(answers, what="a proxy")
            yield client
    finally:
        running.terminate()
        running.wait()
        server.stop()


def test_the_service_is_reached_through_the_proxy_and_strangers_are_stopped(
    proxy: httpx.Client,
) -> None:
    path = f"/v1/experiments/{EXPERIMENT}"
    made = proxy.post(f"{path}/decisions", json={"subject": "a/b//c=="})
    assert made.status_code == 201
    assert made.headers["X-Request-ID"]
    seen = proxy.get(f"{path}/subjects/{SLASHED}")
    assert (seen.status_code, seen.json()["subject"]) == (200, "a/b//c==")
    reward = {"reward": 1.0}
    rewarded = proxy.put(f"/v1/decisions/{made.json()['id']}/reward", json=reward)
    assert rewarded.status_code == 200
    exported = proxy.get(f"{path}/events")
    assert (exported.status_code, len(exported.text.splitlines())) == (200, 1)
    assert proxy.get("/docs").status_code == proxy.get("/readyz").status_code == 200
    assert proxy.get("/metrics").status_code == 404
    assert proxy.get("/livez", headers={"X-Long": "a" * 20_000}).status_code == 400
    assert proxy.post(f"{path}/decisions", content=b"a" * 9_000_000).status_code == 413
