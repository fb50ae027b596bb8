"""A field of the page is called in sentences as it is called there."""

import html

from latesum.campaigns.page_words import LABELS


def test_every_label_that_sentences_name_is_on_a_page(operator, campaign):
    operator.get(f"{campaign}/option")
    pages = ("/campaigns/banner/totals", "/new")
    shown = html.unescape("".join(operator.get(page).text for page in pages))
    for label in LABELS.values():
        assert label in shown


def test_the_page_has_words_for_purposes_and_no_refusal_has_those_of_a_library(operator, campaign):
    operator.get(f"{campaign}/option")
    page = operator.get("/campaigns/banner").text
    assert '<td class="place">to learn</td>' in page
    headers = {"Content-Type": "application/json"}
    refused = operator.put("/v1/campaigns/x", content='{"options": ["a", "b"', headers=headers)
    assert refused.json()["error"] == "the body is not JSON: it goes wrong at character 21."
