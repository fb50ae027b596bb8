"""The words of the page, and of refusals."""


def test_the_page_has_words_for_purposes_and_no_refusal_has_those_of_a_library(operator, campaign):
    operator.get(f"{campaign}/option")
    page = operator.get("/campaigns/banner").text
    assert '<td class="place">to learn</td>' in page
    headers = {"Content-Type": "application/json"}
    refused = operator.put("/v1/campaigns/x", content='{"options": ["a", "b"', headers=headers)
    assert refused.json()["error"] == "the body is not JSON: it goes wrong at character 21."
