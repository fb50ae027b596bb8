"""A field of the page is called in sentences as it is called there."""

import html

from latesum.live.page_words import LABELS


def test_every_label_that_sentences_name_is_on_a_page(operator, campaign):
    operator.get(f"{campaign}/option")
    pages = ("/campaigns/banner/totals", "/new")
    shown = html.unescape("".join(operator.get(page).text for page in pages))
    for label in LABELS.values():
        assert label in shown
