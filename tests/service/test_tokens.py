"""Tokens from the command line, and the first start."""

import json
import threading
from datetime import timedelta

import pytest
from typer.testing import CliRunner

from latesum._checks import InvalidInput
from latesum.campaigns import Store
from latesum.cli.app import app
from latesum.service import Tokens
from latesum.service.tokens import MAX_SESSIONS


def run(*arguments):
    result = CliRunner().invoke(app, [str(each) for each in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_made_listed_and_revoked_from_the_command_line(tmp_path):
    file = tmp_path / "campaigns.db"
    secret = run("token", "--store", file, "new", "shop", "--scope", "record").strip()
    with Store(file) as store:
        assert Tokens(store).find(secret).scope == "record"
    listed = run("token", "--store", file, "list")
    assert "shop" in listed
    assert secret not in listed
    (row,) = json.loads(run("token", "--store", file, "list", "--json"))
    assert row["revoked_at"] is None
    assert "opens nothing" in run("token", "--store", file, "revoke", row["id"])
    with Store(file) as store:
        assert all(each.revoked_at for each in Tokens(store).all())
    assert "There are no tokens" in run("token", "--store", tmp_path / "other.db", "list")


def test_bad_names_scopes_and_ids_are_refused(tmp_path):
    with Store(tmp_path / "campaigns.db") as store:
        tokens = Tokens(store)
        with pytest.raises(InvalidInput, match="did you mean 'record'"):
            tokens.new("shop", "recrd")
        with pytest.raises(InvalidInput, match="name"):
            tokens.new("", "read")
        tokens.new("shop", "read")
        tokens.new("shop", "record")
        with pytest.raises(InvalidInput, match="2 tokens are called 'shop'"):
            tokens.revoke("shop")
        with pytest.raises(InvalidInput, match="there is no token"):
            tokens.revoke("nobody")


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_the_first_start_makes_one_however_many_start(kind, tmp_path, request):
    address = tmp_path / "campaigns.db"
    if kind == "postgresql":
        address = request.getfixturevalue("postgres").new_database()
    with Store(address) as store:
        made = []
        threads = [
            threading.Thread(target=lambda: made.append(Tokens(store).first())) for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (secret,) = [each for each in made if each is not None]
        assert len(made) == 6
        assert Tokens(store).find(secret).scope == "admin"
        Tokens(store).revoke("first")
        assert Tokens(store).first() is None  # who revoked the last one wants none


def test_of_many_sessions_of_a_token_the_oldest_end(tmp_path):
    with Store(tmp_path / "campaigns.db") as store:
        tokens = Tokens(store)
        token, other = (tokens.find(tokens.new(name, "read")) for name in ("ada", "eve"))
        kept = tokens.new_session(other, timedelta(hours=1))
        secrets = [tokens.new_session(token, timedelta(hours=1)) for _ in range(MAX_SESSIONS + 5)]
        found = [tokens.find_session(secret) is not None for secret in secrets]
        assert found == [False] * 5 + [True] * MAX_SESSIONS
        assert tokens.find_session(kept).name == "eve"
