"""Who may do what: addresses, origins, tokens, media types, and the headers of every answer."""

from __future__ import annotations

import gzip
import logging
import os
import warnings
from pathlib import Path
from typing import Any

import pytest
from serving import client, knowledge_base

from deltalog import DataWarning, UsageError
from deltalog.apps.cli.main import main
from deltalog.apps.cli.serve import _warn_of_readers
from deltalog.apps.server.security import (
    LOOPBACK_NAMES,
    check_origin,
    check_settings,
    check_token,
    host_name,
    is_loopback,
)
from deltalog.apps.server.settings import ServerSettings

TOKEN = "b3b1c9a0e4d24f0a9b8c7d6e"
CHANGE = {"add": {"edge": [["x", "y"]]}}
BEARER = {"authorization": f"Bearer {TOKEN}"}


@pytest.mark.parametrize(
    ("host", "settings", "is_safe"),
    [
        ("127.0.0.1", {}, True),
        ("::1", {}, True),
        ("localhost", {}, True),
        ("127.8.9.1", {}, True),
        ("0.0.0.0", {}, False),
        ("::", {}, False),
        ("192.168.1.2", {}, False),
        ("example.org", {}, False),
        ("0.0.0.0", {"readonly": True}, True),
        ("0.0.0.0", {"token": TOKEN}, True),
        ("127.0.0.1", {"origins": ("*",)}, False),
        ("127.0.0.1", {"origins": ("*",), "token": TOKEN}, True),
        ("127.0.0.1", {"origins": ("https://e.org",)}, True),
        ("127.0.0.1", {"token_for_reading": True}, False),
    ],
)
def test_nobody_else_may_write_unless_told(host: str, settings: dict[str, Any], is_safe: bool) -> None:
    if is_safe:
        check_settings(host, ServerSettings(**settings))
    else:
        with pytest.raises(UsageError):
            check_settings(host, ServerSettings(**settings))


def test_the_command_refuses_to_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = tmp_path / "rules.dl"
    rules.write_text("p(X) :- q(X).")
    assert main(["serve", str(rules), "--host", "0.0.0.0"]) == 1
    assert "--token-file" in capsys.readouterr().err
    for text in ("", "short", "two words that are long enough", "x" * 20 + "\ny"):
        (tmp_path / "token").write_text(text)
        assert main(["serve", str(rules), "--token-file", str(tmp_path / "token")]) == 1
        assert "has no token" in capsys.readouterr().err
    assert main(["serve", str(rules), "--token-file", str(tmp_path / "none")]) == 1
    assert main(["serve", str(rules), "--cors", "e.org"]) == 1
    assert main(["serve", str(tmp_path), str(rules)]) == 2
    with pytest.raises(SystemExit):
        main(["serve", str(rules), "--port", "65536"])


def test_tokens_and_origins() -> None:
    assert check_token(f" {TOKEN}\n", "file") == TOKEN
    assert check_origin("http://localhost:3000") == "http://localhost:3000"
    for wrong in ("https://e.org/", "e.org", "https://e.org https://f.org", "null"):
        with pytest.raises(UsageError):
            check_origin(wrong)
    assert [host_name(name) for name in ("a.b:80", "[::1]:80", "LOCALHOST", "")] == ["a.b", "::1", "localhost", ""]
    assert not is_loopback("127.0.0.1.nip.io")


def test_a_token_for_writing() -> None:
    with client(token=TOKEN) as made:
        assert made.get("/query?goal=end(?x)").status_code == 200
        assert made.post("/update?dry_run=1", json=CHANGE).status_code == 200
        wrong = [{}, {"authorization": f"Bearer {TOKEN}x"}, {"authorization": TOKEN}, {"authorization": "Bearer "},
                 {"authorization": f"Basic {TOKEN}"}, {"authorization": "Bearer ü".encode("latin-1")}]  # fmt: skip
        for headers in wrong:
            refused = made.post("/update", json=CHANGE, headers=headers)  # type: ignore[arg-type]
            assert refused.status_code == 401 and refused.headers["www-authenticate"].startswith("Bearer")
            assert made.delete("/rules/r1", headers=headers).status_code == 401  # type: ignore[arg-type]
        assert made.post("/update", json=CHANGE, headers=BEARER).json()["version"] == 2
        assert made.get("/openapi.json").json()["paths"]["/update"]["post"]["security"] == [{"token": []}]


def test_a_token_for_reading() -> None:
    with client(token=TOKEN, token_for_reading=True) as made:
        for path in ("/query?goal=end(?x)", "/health", "/metrics", "/changes?goal=end(?x)", "/facts/edge"):
            assert made.get(path).status_code == 401
        assert made.get("/query?goal=end(?x)", headers=BEARER).status_code == 200


def test_the_token_is_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), client(token=TOKEN) as made:
        texts = [made.post("/update", json=asked, headers=BEARER).text for asked in (CHANGE, {"x": 1}, {"add": 1})]
        texts += [made.get(path, headers=BEARER).text for path in ("/metrics", "/health", "/openapi.json", "/none")]
    assert TOKEN not in caplog.text and not any(TOKEN in text for text in texts)
    assert TOKEN not in repr(ServerSettings(token=TOKEN))


@pytest.mark.skipif(os.name != "posix", reason="needs rights of groups and others")
def test_a_token_that_others_can_read(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(TOKEN)
    for mode in (0o644, 0o640, 0o604):
        token.chmod(mode)
        with pytest.warns(
            DataWarning, match=rf"token can be read by other users of this machine \(mode {mode:o}\); `chmod"
        ):
            _warn_of_readers(token)
    token.chmod(0o600)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _warn_of_readers(token)
        _warn_of_readers(None)


def test_for_reading_only() -> None:
    with client(readonly=True) as made:
        assert made.post("/update", json=CHANGE).json()["error"]["code"] == "readonly"
        assert made.delete("/rules/r1").status_code == 403
        assert made.post("/update?dry_run=1", json=CHANGE).status_code == 200


def test_the_name_that_a_browser_has_called() -> None:
    with client(hosts=frozenset(LOOPBACK_NAMES)) as made:
        for host, status in (("localhost:8080", 200), ("127.0.0.1", 200), ("[::1]:1", 200), ("evil.example", 403),
                             ("127.0.0.1.evil.example", 403), ("[::1]evil.example", 403), ("", 403)):  # fmt: skip
            assert made.get("/health", headers={"host": host}).status_code == status, host


@pytest.mark.parametrize("path", ["/update", "/sparql", "/query"])
def test_pages_elsewhere_may_not_call(path: str) -> None:
    with client() as made:
        for origin in ("https://evil.example", "null", "http://127.0.0.1:8081", "http://127.0.0.1:8080.evil.example"):
            refused = made.post(path, json=CHANGE, headers={"origin": origin})
            assert refused.status_code == 403 and "access-control-allow-origin" not in refused.headers
        assert made.post(path, json=CHANGE, headers={"sec-fetch-site": "cross-site"}).status_code == 403
        own = made.post("/update", json=CHANGE, headers={"origin": "http://127.0.0.1:8080"})
        assert own.status_code == 200


def test_forms_of_other_pages_change_nothing() -> None:
    """What a page can send without asking first: these three media types."""
    with client() as made:
        for media_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            sent = made.post(
                "/update", content=b'{"add": {"edge": [["x", "y"]]}}', headers={"content-type": media_type}
            )
            assert sent.status_code == 415
        assert made.get("/versions").json()["version"] == 1


def test_pages_that_may_call() -> None:
    with client(origins=("https://e.org",)) as made:
        asked = {"origin": "https://e.org", "access-control-request-method": "POST"}
        first = made.options("/update", headers=asked)
        assert first.status_code == 204 and first.headers["access-control-allow-origin"] == "https://e.org"
        assert "Authorization" in first.headers["access-control-allow-headers"]
        then = made.post("/update", json=CHANGE, headers={"origin": "https://e.org"})
        assert then.status_code == 200 and "Origin" in then.headers["vary"]
        assert made.options("/update", headers={**asked, "origin": "https://f.org"}).status_code == 403


def test_headers_of_every_answer() -> None:
    with client(raises=False) as made:
        answers = [made.get("/health"), made.get("/none"), made.put("/query"), made.post("/update", json={"x": 1})]
        answers += [made.options("/update"), made.get("/metrics"), made.get("/health", headers={"origin": "https://x"})]
        for answer in answers:
            assert answer.headers["x-frame-options"] == "DENY" and answer.headers["x-content-type-options"] == "nosniff"
            assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
            assert answer.headers["cache-control"] == "no-store"


def test_bodies_are_bounded() -> None:
    with client(body_bytes=1000) as made:
        json = {"content-type": "application/json"}
        assert made.post("/update", content=b'{"add": {}}', headers=json).status_code == 200
        large = b'{"add": {}, "add_rules": "' + b" " * 1000 + b'"}'
        assert made.post("/update", content=large, headers=json).status_code == 413
        assert made.post("/update", content=iter([large[:500], large[500:]]), headers=json).status_code == 413
        zipped = {**json, "content-encoding": "gzip"}
        assert made.post("/update", content=gzip.compress(b'{"add": {}}'), headers=zipped).status_code == 200
        bomb = gzip.compress(b'{"add": {}}' + b" " * 10_000_000)
        assert len(bomb) > 1000 or made.post("/update", content=bomb, headers=zipped).status_code == 413
        bomb = gzip.compress(b'{"add": {}}' + b" " * 100_000)
        assert len(bomb) < 1000 and made.post("/update", content=bomb, headers=zipped).status_code == 413
        for broken in (b"no gzip", gzip.compress(b"{}")[:-9]):
            assert made.post("/update", content=broken, headers=zipped).status_code == 400
        assert made.post("/update", content=b"{}", headers={**json, "content-encoding": "br"}).status_code == 415


def test_rules_and_queries_reach_no_files(tmp_path: Path) -> None:
    secret = tmp_path / "secret.dl"
    secret.write_text('secret("found").')
    with client(knowledge_base()) as made:
        included = f'.decl p(x : number)\n#include "{secret}"\n'
        for text in (str(secret), f"@{secret}", "@../../../etc/passwd", f'LOAD "{secret}".', included):
            answer = made.post("/update", json={"add_rules": text})
            assert answer.status_code == 400 and "found" not in answer.text, text
            assert made.post("/update", json={"remove_rules": text}).status_code == 400
            checked = made.post("/check", json={"text": text, "kind": "rules"})
            assert checked.json()["diagnostics"] and "found" not in checked.text
