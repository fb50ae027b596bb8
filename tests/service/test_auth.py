"""Without a token every request is refused, and with one what is beyond its scope."""

import json
from pathlib import Path

from latesum.service import Tokens, auth
from latesum.service.app import ROUTERS
from latesum.service.auth import COOKIE, OPEN, ScopedRoute, scope_of

ROUTES = [route for router in ROUTERS for route in router.routes]
#: A body that would be accepted with a token.
BODIES = {
    "create_campaign": {
        "options": ["red", "blue"],
        "policy": "odaaf",
        "every": "day",
        "expected_rounds": 1000,
        "parameters": {"horizon": 90_000, "mean_delay": 100},
        "time_basis": "arrival",
    },
    "record": {"total": 1},
    "upload": {"rows": [{"bucket": 1, "total": 1}]},
    "act": {"reason": "x"},
    "make_token": {"name": "x", "scope": "read"},
}


def described(service):
    """Every operation of the OpenAPI description: method, path, name."""
    whole = service.as_("read").get("/v1/openapi.json").json()
    return [
        (method.upper(), path.replace("{campaign}", "banner").replace("{bucket}", "1"), found)
        for path, operations in whole["paths"].items()
        for method, found in operations.items()
    ]


def test_every_route_there_is_without_a_token_is_401(make_service):
    """Also those that the description leaves out, and addresses where there is nothing."""
    service = make_service(unauthenticated_per_second=1000.0)
    assert {id(route) for route in service.app.routes} == {id(route) for route in ROUTES}
    there = [(method, route.path) for route in ROUTES for method in route.methods]
    assert len(there) > 35
    for method, path in [*there, ("GET", "/nothing"), ("GET", "/docs"), ("GET", "/openapi.json")]:
        for sent in (None, "Bearer latesum_wrong", "Basic x"):
            if (method, path) not in OPEN:
                headers = {} if sent is None else {"Authorization": sent}
                answer = service.stranger.request(method, path, headers=headers)
                assert answer.status_code == 401, (method, path)
                assert answer.headers["www-authenticate"].startswith("Bearer")
                assert method == "HEAD" or answer.json()["error"]
    assert service.stranger.get("/livez").status_code == 200


def test_every_route_with_too_small_a_scope_is_403(service):
    below = {"record": "read", "operate": "record", "admin": "operate"}
    pages, seen = set(), set()
    for route in ROUTES:
        needed = scope_of(route.endpoint)
        if not isinstance(route, ScopedRoute) or needed == "read":
            continue
        seen.add(needed)
        body = BODIES.get(route.name, {"reason": "x"})
        path = route.path.replace("{campaign}", "banner").replace("{bucket}", "1")
        for method in route.methods:
            answer = getattr(service.as_(below[needed]), method.lower())(path, json=body)
            assert answer.status_code == 403, (method, path)
            assert method == "HEAD" or needed in answer.json()["error"]
        if not route.include_in_schema:
            pages.add(route.path)
    assert seen == {"record", "operate", "admin"}
    assert pages == {"/plan", "/new", "/admin", "/campaigns/{campaign}/totals"}


def test_a_route_that_declares_nothing_needs_the_most(make_service):
    service = make_service()

    async def forgotten():
        return {"secret": True}

    service.app.router.add_api_route("/forgotten", forgotten, route_class_override=ScopedRoute)
    assert service.stranger.get("/forgotten").status_code == 401
    assert service.as_("operate").get("/forgotten").status_code == 403
    assert service.as_("admin").get("/forgotten").status_code == 200


def test_every_route_with_a_body_ten_times_too_large_is_413(service, monkeypatch):
    for limit in ("MAX_FILE", "MAX_SMALL"):
        monkeypatch.setattr(auth, limit, 1000)
    walked = [each for each in described(service) if each[0] in ("PUT", "POST")]
    assert len(walked) >= 8
    for method, path, _ in walked:
        client = service.as_("admin")
        answer = getattr(client, method.lower())(path, content=b"x" * 10_000)
        assert answer.status_code == 413, (method, path)
        assert "1,000 bytes" in answer.json()["error"]

        def in_parts():  # without a length that could be looked at beforehand
            for _ in range(100):
                yield b"x" * 100

        answer = getattr(client, method.lower())(path, content=in_parts())
        assert answer.status_code == 413, (method, path)


def test_guessing_is_429(make_service):
    service = make_service(unauthenticated_per_second=0.001)
    guesses = [
        service.stranger.get("/readyz", headers={"Authorization": f"Bearer latesum_{n}"})
        for n in range(8)
    ]
    assert [each.status_code for each in guesses][-1] == 429
    # Nothing is looked up for an address that guesses, whatever it sends.
    assert service.as_("read").get("/readyz").status_code == 429
    assert service.by_session("session_guess").get("/readyz").status_code == 429
    assert service.stranger.get("/livez").status_code == 200


def test_the_page_asks_for_a_token_and_keeps_it_from_scripts_and_other_sites(service):
    html = {"Accept": "text/html"}
    asked = service.stranger.get("/", headers=html)
    assert asked.status_code == 401
    assert 'type="password"' in asked.text
    assert "script-src" not in asked.headers["content-security-policy"]
    wrong = service.stranger.post("/login", data={"token": "latesum_wrong"})
    assert wrong.status_code == 401
    secret = service.secrets["operate"]
    right = service.stranger.post("/login", data={"token": secret}, follow_redirects=False)
    assert (right.status_code, right.headers["location"]) == (303, "/")
    cookie = right.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    page = service.stranger.get("/", headers=html)
    assert page.status_code == 200
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert secret not in page.text
    service.stranger.cookies.clear()


def test_a_cookie_alone_cannot_act(service, campaign):
    session, ours = service.log_in("operate"), {"X-Latesum-Page": "1"}
    act = {"json": {"reason": "another site says so"}}
    browser = service.by_session(session)
    assert browser.post(f"{campaign}/actions/pause", **act).status_code == 403
    for forged in (
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://elsewhere.example"},
        {"Origin": "null"},
        {"Origin": "https://testserver"},  # the scheme is not that of the service
    ):
        answer = browser.post(f"{campaign}/actions/pause", **act, headers={**ours, **forged})
        assert answer.status_code == 403, forged
        login = service.stranger.post("/login", data={"token": "x"}, headers=forged)
        assert (login.status_code, "--proxy" in login.json()["error"]) == (403, True), forged
    right = {**ours, "Origin": "http://testserver", "Sec-Fetch-Site": "same-origin"}
    assert browser.post(f"{campaign}/actions/pause", **act, headers=right).status_code == 200
    out = browser.post("/logout", headers=right)
    assert out.status_code == 204
    assert f'{COOKIE}=""' in out.headers["set-cookie"]


def test_every_route_by_cookie_from_another_origin_is_403(service):
    browser = service.by_session(
        service.log_in("admin"), **{"X-Latesum-Page": "1", "Origin": "https://elsewhere.example"}
    )
    walked = 0
    for route in ROUTES:
        for method in route.methods - {"GET", "HEAD"}:
            answer = getattr(browser, method.lower())(route.path, json={})
            assert answer.status_code == 403, (method, route.path)
            walked += 1
    assert walked > 12


def test_the_cookie_is_a_session_of_its_own_and_never_the_token(service):
    session = service.log_in("read")
    assert session not in service.secrets.values()
    assert session != service.log_in("read")
    browser = service.by_session(session)
    assert browser.get("/readyz").status_code == 200
    # Neither opens what the other does: a token in the cookie, a session as a token.
    assert service.by_session(service.secrets["read"]).get("/readyz").status_code == 401
    bearer = {"Authorization": f"Bearer {session}"}
    assert service.stranger.get("/readyz", headers=bearer).status_code == 401
    folder = Path(service.store.url.database).parent
    kept = b"".join(path.read_bytes() for path in folder.glob("campaigns*"))
    for secret in (session, *service.secrets.values()):  # only hashes are kept
        assert secret.partition("_")[2].encode() not in kept


def test_logging_out_ends_the_session_on_the_server_on_every_route(make_service):
    service = make_service(unauthenticated_per_second=1000.0)
    session, other = service.log_in("admin"), service.log_in("admin")
    ours = {"X-Latesum-Page": "1"}
    browser = service.by_session(session, **ours)
    assert browser.get("/readyz").status_code == 200
    assert browser.post("/logout").status_code == 204
    there = [(method, route.path) for route in ROUTES for method in route.methods]
    for method, path in there:
        if (method, path) not in OPEN:
            found = getattr(browser, method.lower())(path)
            assert found.status_code == 401, (method, path)
    assert service.by_session(other).get("/readyz").status_code == 200
    again = browser.get("/", headers={"Accept": "text/html"})
    assert "logged out" in again.text


def test_a_session_ends_by_its_age_and_with_its_token(make_service):
    service = make_service(session_hours=1e-9)
    assert service.by_session(service.log_in("read")).get("/readyz").status_code == 401
    service = make_service()
    browser = service.by_session(service.log_in("read"))
    assert browser.get("/readyz").status_code == 200
    Tokens(service.store).revoke("read")
    assert browser.get("/readyz").status_code == 401


def test_an_administrator_makes_and_revokes_tokens(service):
    admin = service.as_("admin")
    made = admin.post("/v1/tokens", json={"name": "shop", "scope": "record"})
    assert made.status_code == 201
    shop = {"Authorization": f"Bearer {made.json()['secret']}"}
    assert service.stranger.get("/readyz", headers=shop).status_code == 200
    listed = admin.get("/v1/tokens").json()["tokens"]
    assert [each["name"] for each in listed] == ["read", "record", "operate", "admin", "shop"]
    assert made.json()["secret"] not in admin.get("/v1/tokens").text
    id = made.json()["id"]
    assert admin.post(f"/v1/tokens/{id}/revoke").json()["revoked_at"] is not None
    assert service.stranger.get("/readyz", headers=shop).status_code == 401  # at once
    assert admin.post(f"/v1/tokens/{id}/revoke").status_code == 404
    own = next(each["id"] for each in listed if each["name"] == "admin")
    assert admin.post(f"/v1/tokens/{own}/revoke").status_code == 409
    assert admin.post("/v1/tokens", json={"name": "x", "scope": "all"}).status_code == 422


def test_the_log_is_json_and_holds_no_secret(service, campaign, lines):
    operator = service.as_("operate")
    operator.get(f"{campaign}/option", params={"token": service.secrets["operate"], "bucket": 1})
    operator.put(f"{campaign}/buckets/1", json={"total": 1})
    service.stranger.get("/readyz", headers={"Authorization": "Bearer latesum_guess"})
    service.stranger.post("/login", data={"token": service.secrets["read"]})
    requests = [json.loads(line) for line in lines]
    record = next(each for each in requests if each.get("method") == "PUT")
    assert record["status"] == 200
    assert record["who"] == "operate"
    assert record["milliseconds"] > 0
    text = "\n".join(lines)
    for secret in [*service.secrets.values(), "latesum_guess"]:
        assert secret not in text
    service.stranger.cookies.clear()
