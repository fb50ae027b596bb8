"""Alerts reach their receivers at least once, signed, and only where they may go."""

import asyncio
import hashlib
import hmac
import ipaddress
import json
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
from receiver import Receiver
from service_settings import SETTINGS
from sqlalchemy import update

from latesum import InvalidInput
from latesum.campaigns import Campaign, Store, schema
from latesum.campaigns.health import Finding
from latesum.service import sending
from latesum.service.alerts import Outbox, State, changes, message
from latesum.service.sending import Sender
from latesum.service.summaries import CampaignSummary
from latesum.service.webhooks import Webhooks, check_address, resolve

HERE = (ipaddress.ip_network("127.0.0.0/8"),)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "campaigns.db") as opened:
        for name in ("banner", "prices"):
            Campaign.create(name=name, **SETTINGS, store=opened)
        yield opened


@pytest.fixture
def webhook(store, receiver):
    address = f"http://127.0.0.1:{receiver.port}/hook"
    return Webhooks(store, HERE).new("chat", address, "json", by="ada")


@pytest.fixture
def send(store):
    """Send what is due; how many were taken."""
    with ThreadPoolExecutor(2) as threads:
        sender = Sender(store, HERE, threads)
        yield lambda: asyncio.run(sender.send_waiting())


def make_due(store):
    """As if the time until the next attempt had passed."""
    with store.engine.connect().execution_options(latesum_write=True) as connection:
        connection.execute(update(schema.outbox).values(next_at="2000-01-01T00:00:00.000000+00:00"))
        connection.commit()


def summary(name="banner", health=(), winner=None, state="running"):
    return CampaignSummary(
        name, state, "The campaign is finished with blue: clear", ("red", "blue"), "odaaf", "day",
        None, list(health), "red", 0, winner, 3, None, 1,
    )  # fmt: skip


STALE = Finding("data stale", "alarm", "The last total came in 6 days ago.")
LONG = Finding("held long", "warning", "It has been held for 9 days.")
IDS = {"banner": 1, "prices": 2}


def test_what_has_changed_is_said_once():
    well = State([], [], None, False)
    assert changes(well, summary()) == []
    (alert,) = changes(well, summary(health=[STALE]))
    assert (alert.event, alert.level, alert.text) == ("health", "alarm", STALE.sentence)
    ill = State(["data stale"], [], None, False)
    assert changes(ill, summary(health=[STALE])) == []
    assert [each.text for each in changes(ill, summary(health=[STALE, LONG]))] == [LONG.sentence]
    assert [each.level for each in changes(ill, summary())] == ["healthy"]
    assert [each.event for each in changes(well, summary(winner="blue"))] == ["winner"]
    over = summary(winner="blue", state="finished")
    assert [each.event for each in changes(State([], [], "blue", False), over)] == ["finished"]
    assert changes(State([], [], "blue", True), over) == []
    assert changes(None, over) == []  # it was over before anyone looked
    assert len(changes(None, summary(health=[STALE]))) == 1
    note = Finding("weekdays", "note", "Options are compared on different days.")
    assert changes(well, summary(health=[note])) == []


def test_an_alert_is_sent_signed_and_once(store, receiver, webhook, send):
    outbox = Outbox(store, "https://latesum.example")
    assert outbox.notice(IDS, [summary(), summary("prices")]) == 0
    assert outbox.notice(IDS, [summary(health=[STALE])]) == 1
    assert outbox.notice(IDS, [summary(health=[STALE])]) == 0
    assert send() == 1
    assert send() == 0
    ((headers, body, path),) = receiver.taken
    said = json.loads(body)
    assert path == "/hook"
    assert (said["event"], said["campaign"], said["text"]) == ("health", "banner", STALE.sentence)
    assert said["link"] == "https://latesum.example/campaigns/banner"
    assert said["id"] == headers["X-Latesum-Id"]
    signed = f"{headers['X-Latesum-Timestamp']}.{body}".encode()
    proof = hmac.new(webhook.secret.encode(), signed, hashlib.sha256).hexdigest()
    assert headers["X-Latesum-Signature"] == f"v1={proof}"


def test_what_is_about_the_store_is_said_once_for_all_campaigns(store, receiver, webhook, send):
    full = Finding("store nearly full", "alarm", "There are 3 MB left.")
    outbox = Outbox(store)
    outbox.notice(IDS, [summary(), summary("prices")])
    both = [summary(health=[full, STALE]), summary("prices", health=[full])]
    assert outbox.notice(IDS, both) == 2
    assert send() == 1
    assert send() == 1  # one after the other to one receiver
    codes = [json.loads(body)["code"] for _, body, _ in receiver.taken]
    assert sorted(codes) == ["data stale", "store nearly full"]


def test_of_two_services_one_says_it(store, webhook):
    both = [Outbox(store), Outbox(store)]
    for outbox in both:
        outbox.notice(IDS, [summary()])
    assert [outbox.notice(IDS, [summary(health=[STALE])]) for outbox in both] == [1, 0]


def test_a_receiver_that_was_down_gets_everything_and_can_tell_a_repeat(
    store, receiver, webhook, send
):
    outbox = Outbox(store)
    outbox.notice(IDS, [summary()])
    receiver.status = 503
    outbox.notice(IDS, [summary(health=[STALE])])
    outbox.notice(IDS, [summary(health=[STALE], winner="blue")])
    assert send() == 0
    for _ in range(3):
        make_due(store)
        assert send() == 0
    receiver.status = 200
    taken = 0
    for _ in range(4):
        make_due(store)
        taken += send()
    assert taken == 2
    ids = [headers["X-Latesum-Id"] for headers, _, _ in receiver.taken]
    assert len(set(ids)) == 2
    assert len(ids) > 2
    attempts = [int(headers["X-Latesum-Attempt"]) for headers, _, _ in receiver.taken]
    assert max(attempts) > 1
    texts = {json.loads(body)["text"] for _, body, _ in receiver.taken}
    assert texts == {STALE.sentence, "blue is the winner."}


def test_a_receiver_that_was_down_for_an_hour_hears_of_everything_once_it_is_back(store):
    """Nothing listens at its address for an hour of the sender's clock; then it is there again."""
    from datetime import UTC, datetime, timedelta

    bound = socket.socket()  # no one else may have its port; until it listens it is refused
    bound.bind(("127.0.0.1", 0))
    port = bound.getsockname()[1]
    webhook = Webhooks(store, HERE).new("chat", f"http://127.0.0.1:{port}/", "json", by="ada")
    outbox, now = Outbox(store), [datetime.now(UTC)]
    outbox.notice(IDS, [summary()])
    news = {
        0: summary(health=[STALE]),
        20: summary(health=[STALE], winner="blue"),
        40: summary(winner="blue"),
    }
    with ThreadPoolExecutor(2) as threads:
        sender = Sender(store, HERE, threads, lambda: now[0])
        for half_minute in range(120):
            if half_minute % 2 == 0 and half_minute // 2 in news:
                outbox.notice(IDS, [news[half_minute // 2]])
            assert asyncio.run(sender.send_waiting()) == 0
            now[0] += timedelta(seconds=30)
        receiver = Receiver(bound)
        try:
            for _ in range(21):  # the longest pause is ten minutes
                asyncio.run(sender.send_waiting())
                now[0] += timedelta(seconds=30)
        finally:
            receiver.close()
    said = [json.loads(body) for _, body, _ in receiver.taken]
    assert sorted(each["event"] for each in said) == ["health", "health", "winner"]
    assert {each["level"] for each in said} == {"alarm", "healthy", "note"}
    assert len({headers["X-Latesum-Id"] for headers, _, _ in receiver.taken}) == 3
    attempts = [int(headers["X-Latesum-Attempt"]) for headers, _, _ in receiver.taken]
    assert min(attempts) > 3  # it was tried meanwhile, less and less often
    assert max(attempts) < 20
    for headers, body, _ in receiver.taken:  # signed when it was sent, so that it is not too old
        at = headers["X-Latesum-Timestamp"]
        assert now[0].timestamp() - int(at) < 700
        proof = sending.signature(webhook.secret, at, body)
        assert headers["X-Latesum-Signature"] == proof


def test_pauses_grow_and_end(store, receiver, webhook, send):
    from sqlalchemy import select

    receiver.status = 500
    outbox = Outbox(store)
    outbox.put_test(webhook)
    assert send() == 0
    assert send() == 0  # it is not due
    assert len(receiver.taken) == 1
    with store.engine.connect().execution_options(latesum_write=True) as connection:
        old = "2020-01-01T00:00:00.000000+00:00"
        connection.execute(update(schema.outbox).values(created_at=old, next_at=old))
        connection.commit()
    send()
    with store.engine.connect() as connection:
        row = connection.execute(select(schema.outbox)).one()
    assert (row.attempts, row.delivered, row.problem) == (2, 0, "it answered 500")
    assert row.ended_at is not None  # after days it is given up


def test_a_redirect_is_not_followed(store, receiver, webhook, send):
    receiver.status = 307
    Outbox(store).put_test(webhook)
    assert send() == 0
    assert [path for _, _, path in receiver.taken] == ["/hook"]


@pytest.mark.parametrize(("status", "longest"), [(0, 0.3), (202, 20.0)])
def test_a_slow_or_lying_receiver_is_left_alone(
    store, receiver, webhook, send, monkeypatch, status, longest
):
    monkeypatch.setattr(sending, "LONGEST", longest)
    receiver.status = status
    Outbox(store).put_test(webhook)
    assert send() == (status == 202)  # its answer was taken for what it said, and not read


def test_private_addresses_are_refused_unless_listed(store, receiver, webhook):
    with ThreadPoolExecutor(2) as threads:
        strict = Sender(store, (), threads)
        Outbox(store).put_test(webhook)
        assert asyncio.run(strict.send_waiting()) == 0
    assert receiver.taken == []


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("https://127.0.0.1/x", "not a public address"),
        ("https://10.1.2.3/x", "not a public address"),
        ("https://169.254.169.254/latest/meta-data", "not a public address"),
        ("https://[::1]/x", "not a public address"),
        ("https://[::ffff:127.0.0.1]/x", "not a public address"),
        ("https://0.0.0.0/x", "not a public address"),
        ("https://224.0.0.1/x", "not a public address"),
        ("https://[64:ff9b::7f00:1]/x", "not a public address"),
        ("https://[2002:7f00:1::]/x", "not a public address"),
        ("http://example.com/x", "over https only"),
        ("ftp://example.com/x", "https://host/path"),
        ("https://user:word@example.com/x", "without a name or password"),
        ("https://exa mple.com/", "without spaces"),
        ("https:///x", "https://host/path"),
        ("https://example.com:99999/", "https://host/path"),
    ],
)
def test_addresses_that_are_refused(address, says):
    with pytest.raises(InvalidInput, match=says):
        check_address(address)


def test_a_name_is_judged_by_what_it_stands_for():
    parts = check_address("https://localhost/x")
    with pytest.raises(InvalidInput, match="not a public address"):
        resolve(parts)
    assert resolve(parts, (*HERE, ipaddress.ip_network("::1/128"))) in ("127.0.0.1", "::1")
    with pytest.raises(InvalidInput, match="cannot be found"):
        resolve(check_address("https://no-such-name.invalid/x"))


def test_a_name_with_one_private_address_is_refused(monkeypatch):
    """No name server can be asked in a test: what it would answer is given."""
    found = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443))
        for address in ("93.184.216.34", "10.0.0.7")
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with pytest.raises(InvalidInput, match="not a public address"):
        resolve(check_address("https://hooks.example.com/x"))


def test_what_waits_for_a_removed_webhook_is_not_sent(store, receiver, webhook, send):
    outbox = Outbox(store)
    outbox.notice(IDS, [summary()])
    assert outbox.notice(IDS, [summary(health=[STALE])]) == 1
    Webhooks(store, HERE).remove(webhook.id)
    assert send() == 0
    assert receiver.taken == []
    with store.engine.connect() as connection:
        (row,) = connection.execute(schema.outbox.select()).all()
    assert row.ended_at is not None
    assert row.problem == "the webhook was removed"


def test_what_slack_and_teams_accept():
    (alert,) = changes(State([], [], None, False), summary(health=[STALE]))
    slack = message("slack", "1", alert, "", "https://x")
    assert slack == {"text": f"banner: {STALE.sentence}\nhttps://x/campaigns/banner"}
    teams = message("teams", "1", alert, "", None)
    card = teams["attachments"][0]["content"]
    assert (card["type"], card["body"][0]["text"]) == (
        "AdaptiveCard",
        f"banner: {STALE.sentence}",
    )


def test_an_administrator_says_where_alerts_are_sent(service):
    admin = service.as_("admin")
    body = {"name": "chat", "address": "https://hooks.example.com/T0/secret", "shape": "slack"}
    made = admin.post("/v1/webhooks", json=body)
    assert made.status_code == 201
    listed = admin.get("/v1/webhooks").text
    assert "T0/secret" not in listed
    assert made.json()["secret"] not in listed
    id = made.json()["id"]
    assert admin.post(f"/v1/webhooks/{id}/test").status_code == 202
    assert admin.post(f"/v1/webhooks/{id}/remove").status_code == 204
    assert admin.post(f"/v1/webhooks/{id}/remove").status_code == 404
    assert admin.post(f"/v1/webhooks/{id}/test").status_code == 404
    assert admin.get("/v1/webhooks").json() == {"webhooks": []}
    private = {**body, "address": "https://192.168.0.1/x"}
    assert admin.post("/v1/webhooks", json=private).status_code == 422
    assert service.as_("operate").post("/v1/webhooks", json=body).status_code == 403


def test_a_running_service_tells_of_a_finished_campaign(make_service, receiver):
    service = make_service(webhook_networks=("127.0.0.0/8",), watch_every=0.05, send_every=0.05)
    admin = service.as_("admin")
    body = {"name": "own", "address": f"http://127.0.0.1:{receiver.port}/hook"}
    assert admin.post("/v1/webhooks", json=body).status_code == 201
    assert admin.put("/v1/campaigns/banner", json=SETTINGS).status_code == 201
    admin.get("/v1/campaigns/banner/option")
    with service.store.engine.connect() as connection:
        for _ in range(6000):  # until it was seen once
            if connection.exec_driver_sql("SELECT count(*) FROM alert_states").scalar():
                break
            connection.rollback()
            receiver.wait.wait(0.02)
    admin.post("/v1/campaigns/banner/finish", json={"why": "it is clear", "option": "blue"})
    for _ in range(6000):
        if receiver.taken:
            break
        receiver.wait.wait(0.02)
    said = json.loads(receiver.taken[0][1])
    assert (said["event"], said["campaign"]) == ("finished", "banner")
    assert "blue: it is clear" in said["text"]


def test_webhooks_from_the_command_line(latesum, tmp_path):
    store = ("--store", str(tmp_path / "own.db"))
    code, secret, _ = latesum("webhook", *store, "new", "chat", "https://hooks.example.com/T0/x")
    assert (code, len(secret.strip())) == (0, 43)
    _, listed, _ = latesum("webhook", *store, "list")
    assert "chat: https://hooks.example.com/… (json)" in listed
    assert "T0" not in listed
    (row,) = json.loads(latesum("webhook", *store, "list", "--json")[1])
    assert latesum("webhook", *store, "remove", row["id"])[0] == 0
    assert "No alerts are sent" in latesum("webhook", *store, "list")[1]
    code, _, errors = latesum("webhook", *store, "new", "x", "https://10.0.0.1/")
    assert (code, "not a public address" in errors) == (2, True)


def test_check_exits_with_1_and_says_why(latesum, store, clock, monkeypatch):
    place = ("campaign", "--store", store.url.database)
    assert latesum(*place, "check") == (0, "", "")
    settings = {**SETTINGS, "every": "day", "start": "2026-03-02"}
    Campaign.create(name="daily", **settings, store=store, clock=clock).decide()
    later = ("campaign", "--store", store.url.database, "--now", "2026-03-12 08:00")
    code, said, _ = latesum(*later, "check")
    assert code == 1
    assert said.startswith("daily: ")
    assert "No one has asked" in said
    assert latesum(*later, "check", "banner")[0] == 0
    found = json.loads(latesum(*later, "check", "daily", "--json")[1])
    assert found[0]["campaign"] == "daily"
    code, _, errors = latesum(*later, "check", "--level", "notes")
    assert (code, errors.count("\n")) == (2, 1)


def test_sessions_and_alerts_on_both_kinds_of_database(store_address):
    from datetime import timedelta

    from latesum.service.tokens import Sessions, Tokens

    with Store(store_address) as store:
        tokens, sessions = Tokens(store), Sessions(store)
        secret = sessions.new(tokens.find(tokens.new("ada", "admin")), timedelta(hours=1))
        assert sessions.find(secret).name == "ada"
        sessions.end_id(sessions.all()[0].id)
        assert sessions.find(secret) is None
        made = Campaign.create(name="banner", **SETTINGS, store=store)
        webhooks = Webhooks(store)
        webhook = webhooks.new("chat", "https://hooks.example.com/x", "teams", by="ada")
        outbox, ids = Outbox(store), {"banner": made.stored.id}
        assert outbox.notice(ids, [summary()]) == 0
        assert outbox.notice(ids, [summary(health=[STALE])]) == 1
        assert Outbox(store).notice(ids, [summary(health=[STALE])]) == 0
        with ThreadPoolExecutor(1) as threads:
            sender = Sender(store, (), threads)
            (waiting,) = sender._claim()
            assert sender._claim() == []  # no other process sends it meanwhile
            sender._ended(waiting, None)
        assert waiting.webhook == webhook
        webhooks.remove(webhook.id)
        assert webhooks.all() == []
