"""A campaign with regions by the page: plan, history, decisions, totals, acts, winner, in a real browser."""

import io
import json
from datetime import date, timedelta

import numpy as np
import pytest
from browsing import LOOKS, Days, Visitor, running_site

from latesum.campaigns import Campaign, Row

REGIONS = {"north": 4000, "south": 2000, "west": 1000}
OPTIONS = ("ten off", "free shipping", "a gift")
EFFECTS = {"ten off": 1.0, "free shipping": 1.05, "a gift": 1.3}
START = date(2026, 3, 2)


class Shop:
    """Shops in three regions, whose sales come the day after or the day after that."""

    def __init__(self, seed=1):
        self._rng = np.random.default_rng(seed)
        self._made = {}

    def play(self, region, day, option):
        """What the visitors of a day will buy."""
        saturday = 1.4 if (START + timedelta(days=day)).weekday() == 5 else 1.0
        self._made[region, day] = 0.1 * REGIONS[region] * saturday * EFFECTS[option]

    def total(self, region, day):
        """What arrives in a day."""
        mean = sum(
            share * self._made.get((region, day - age), 0.1 * REGIONS[region])
            for age, share in enumerate((0.5, 0.3, 0.2))
        )
        return int(self._rng.poisson(mean))

    def history(self, days=28):
        rows = ["date,region,rounds,total"]
        for day in range(-days, 0):
            for region, visitors in REGIONS.items():
                self.play(region, day, "ten off")
                rows.append(
                    f"{START + timedelta(days=day)},{region},{visitors},{self.total(region, day)}"
                )
        return "\n".join(rows)


@pytest.fixture(scope="module")
def clock():
    return Days()


@pytest.fixture(scope="module")
def site(tmp_path_factory, clock):
    with running_site(tmp_path_factory.mktemp("site"), clock) as running:
        yield running


@pytest.fixture(scope="module")
def forecasting_site(tmp_path_factory, clock):
    """It simulates the rest of a campaign again as soon as more is known."""
    with running_site(tmp_path_factory.mktemp("site"), clock, forecast_every=0.0) as running:
        yield running


def grown(site, clock, name, days=16):
    """A campaign of past days with regions, all totals but the last, and a strange day; weekdays stay as they are."""
    shop, now = Shop(), [clock() - timedelta(days=days)]
    past = [
        dict(zip(("bucket", "region", "rounds", "total"), line.split(","), strict=True))
        for line in shop.history().splitlines()[1:]
    ]
    moved = timedelta(days=clock.day - days)
    history = [
        {
            **row,
            "bucket": (date.fromisoformat(row["bucket"]) + moved).isoformat(),
            "rounds": int(row["rounds"]),
            "total": float(row["total"]),
        }
        for row in past
    ]
    campaign = Campaign.create(
        name=name,
        options=OPTIONS,
        regions=list(REGIONS),
        every="day",
        expected_rounds=2000,
        unit="sales",
        parameters={"horizon": "8 weeks", "late": "about 2 days"},
        history=history,
        time_basis="arrival",
        status_quo="ten off",
        seed=1,
        store=site.store,
        clock=lambda: now[0],
    )
    for day in range(days + 1):
        for region, decision in campaign.decide_all().items():
            shop.play(region, day, decision.option)
        now[0] += timedelta(days=1)
        if day < days:
            rows = [
                Row(
                    day + 1,
                    size,
                    shop.total(region, day) * (3 if (day, region) == (9, "west") else 1),
                    region=region,
                )
                for region, size in REGIONS.items()
            ]
            campaign.record_many(rows)
    return campaign


#: The other pages that know of regions. In the default run one is looked at, in one look.
PAGES = (
    "/plan?regions=yes",
    "/new",
    "/campaigns/looked-at/totals",
    "/campaigns/looked-at/history",
    "/",
)


@pytest.mark.parametrize(
    ("scheme", "width", "height", "pages"),
    [
        (*LOOKS[3], PAGES[:1]),
        *(pytest.param(*look, PAGES, marks=pytest.mark.slow) for look in LOOKS),
    ],
)
def test_what_the_page_shows_of_regions(browser, site, clock, scheme, width, height, pages):
    clock.day = 30
    if "looked-at" not in {each.name for each in site.store.campaigns()}:
        grown(site, clock, "looked-at")
    visitor = Visitor(browser, site.address, site.secrets["operate"], scheme, width, height)
    page = visitor.page
    visitor.goto("/campaigns/looked-at")
    shown = page.locator("#now .regions tbody tr")
    assert shown.count() == 3
    options = page.inner_text("#options")
    assert "status quo" in options
    assert "%" in page.locator("#options tbody tr").nth(2).inner_text()
    facts = page.inner_text("#facts")
    assert "about 2 days was given at the start" in facts
    assert page.locator("#timeline-chart .names text").all_text_contents() == list(REGIONS)
    assert page.locator("#totals-chart .bar").count() > 3
    more = [float(each.rstrip("%")) for each in page.locator(".pattern dd").all_text_contents()]
    assert max(range(7), key=lambda day: more[day]) == 5  # Saturday is the highest
    said = page.inner_text("main")
    assert said.count("in west was ") == said.count("standard deviations above") == 1
    page.click("#by-region summary")
    page.click("#buckets-table summary")
    table = page.inner_text("#buckets-table")
    assert "a gift" in table
    visitor.check_look()
    for path in pages:
        visitor.goto(path)
        page.wait_for_selector("h1")
        visitor.check_look()
    visitor.leave()


def test_acts_and_typed_totals_are_of_a_region(browser, site, clock):
    clock.day = 30
    campaign = grown(site, clock, "acted-on", days=4)
    visitor = Visitor(browser, site.address, site.secrets["operate"])
    page = visitor.page
    visitor.goto("/campaigns/acted-on")
    visitor.act("pause", "a fair", "#now .regions .badge.paused", region="south")
    assert page.locator("#now").get_attribute("data-state") == "running"  # the others go on
    visitor.act("resume", "it is over", region="south")
    page.wait_for_selector("#now .regions .badge.paused", state="detached")
    visitor.act(
        "pin",
        "a leaflet",
        "#now .regions .badge.pinned",
        option="a gift",
        buckets="2",
        region="west",
    )
    visitor.act("unpin", "not printed", region="west")
    page.wait_for_selector("#now .regions .badge.pinned", state="detached")
    visitor.act("remove-option", "sold out", option="a gift", region="north")
    page.wait_for_selector("[data-action=restore-option]:visible", state="attached")
    assert "removed" not in page.inner_text("#options")  # it is in the race elsewhere
    visitor.act("restore-option", "in stock", option="a gift", region="north")
    visitor.act("pause", "all of them", "#now[data-state=paused]")
    visitor.act("resume", "go on", "#now[data-state=running]")
    assert {act.region for act in campaign.state().actions} == {"", "north", "south", "west"}

    page.click("text=Import totals")
    assert page.input_value("#record-region") == "north"
    for region, total in (("north", "400"), ("south", "210"), ("west", "100")):
        assert page.input_value("#record-region") == region  # the next one is offered
        page.fill("#record-rounds", str(REGIONS[region]))
        page.fill("#record-total", total)
        if region == "west":
            page.click("#record-form summary")
            page.fill("#record-shown", "ten off:0.5 a gift:0.5")
        page.click('#record-form button:has-text("Store it")')
        page.wait_for_selector(f"#record-form .done >> text=in {region}: new")
    visitor.leave()
    parts = campaign.state().parts
    last = parts["west"].last
    assert parts["south"].value(last).total == 210
    assert parts["west"].shares(last) == ((0, 0.5), (2, 0.5))


@pytest.mark.slow
def test_from_a_plan_to_a_winner_with_regions_by_the_page_alone(
    browser, forecasting_site, clock, tmp_path
):
    clock.day, shop, name = 0, Shop(), "offers"
    site = forecasting_site
    visitor = Visitor(browser, site.address, site.secrets["operate"], *LOOKS[3])
    page, past = visitor.page, tmp_path / "before.csv"
    past.write_text(shop.history())
    page.click("nav >> text=Plan")
    page.click("text=Several regions")
    page.set_input_files("#plan-history", past)
    page.locator("#plan-options").fill("3")
    page.locator("#plan-lift").fill("25")
    page.locator("#plan-run-for").fill("8 weeks")
    page.click("#region-plan-form button.main")
    visitor.wait_for("#verdict .answer", 320)
    assert "half-time test" in page.inner_text("#verdict")
    visitor.check_look()
    policy = json.loads(io.StringIO(page.evaluate("sessionStorage.planned")).read())
    assert policy["history"]["regions"] == list(REGIONS)
    href = page.get_attribute("#set-up", "href")
    page.click("#set-up")
    if "policy=switchback" not in href or "regions=3" not in href:
        visitor.goto("/new")  # 40 runs may prefer one stream here; regions are what is tested
        page.set_input_files("#new-history", past)
        page.wait_for_selector("#history-read >> text=in north, south, west")
        page.fill("#new-rounds", "2000")
    else:
        assert "As planned: 84 rows" in page.inner_text("#history-read")
    assert page.input_value("#new-regions").split() == list(REGIONS)
    page.fill("#new-name", name)
    page.fill("#new-options", "\n".join(OPTIONS))
    page.select_option("#new-before", "first")
    page.fill("#new-start", START.isoformat())
    page.check("input[value=arrival]")
    visitor.check_look()
    page.click("#new-form button.main")
    visitor.wait_for("#now[data-state=running]")
    rows = []
    for day in range(42):
        if day:
            page.click("[data-decide]")
            page.wait_for_selector("[data-decide]", state="detached")
        for line in page.locator("#now .regions tbody tr").all():
            region, shown = line.locator("th").inner_text(), line.locator("td").first.inner_text()
            shop.play(region, day, shown.strip())
        label = clock().date().isoformat()
        rows += [
            f"{label},{region},{size},{shop.total(region, day)}" for region, size in REGIONS.items()
        ]
        clock.day += 1
        if day % 4 == 3:
            file = tmp_path / "report.csv"
            file.write_text("date,region,rounds,total\n" + "\n".join(rows))
            page.click("text=Import totals")
            page.set_input_files("#file", file)
            page.click("#check")
            page.wait_for_selector("text=Nothing is stored yet")
            assert "Region" in page.inner_text("#verdicts thead")
            page.click("#store")
            page.wait_for_selector("text=rows are stored")
        visitor.goto(f"/campaigns/{name}")
        if page.locator(".badge.winner").count():
            break
        if day == 3:  # the first totals are known: when it will be decided is simulated
            page.wait_for_selector("#facts >> text=simulations of the rest of the campaign")
    assert page.inner_text(".badge.winner") == "a gift wins"
    visitor.check_look()
    visitor.act("finish", "it is clear", "#now[data-state=finished]")
    assert "finished with a gift" in page.inner_text("#now .headline")
    visitor.check_look()
    visitor.leave()
