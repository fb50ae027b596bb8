"""The process that reads large files for the service, and writes what is in them.

It opens the store itself: what it writes is seen by the service as what any other process writes.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from latesum.campaigns.campaign import Campaign
from latesum.campaigns.store import Store
from latesum.service.errors import ClientLeft, answer_to, reader_at
from latesum.service.helper_process import Message, answer_questions, is_wanted
from latesum.service.taking_in import Taken, Upload, take_history, take_in


class FileReader:
    """Answers questions about files, with the campaigns of stores that it keeps open."""

    def __init__(self) -> None:
        self._stores: dict[str, Store] = {}
        self._campaigns: dict[tuple[str, str], Campaign] = {}
        self._now = datetime.min

    def answer(self, question: Message) -> Message:
        """The status, the content and the headers of the answer to an upload."""
        head = question.head
        try:
            taken = self._take(head, question.body)
            return Message({"status": taken.status, "headers": {}}, taken.content)
        except Exception as error:
            answer = answer_to(error, reader_at(page=head["sent"]["page"]))
            headers = {
                key: value
                for key, value in answer.headers.items()
                if key not in ("content-length", "content-type")
            }
            return Message({"status": answer.status_code, "headers": headers}, bytes(answer.body))

    def _take(self, head: dict[str, Any], body: bytes) -> Taken:
        sent = Upload(**{**head["sent"], "allowed": tuple(head["sent"]["allowed"])})
        if head["campaign"] is None:
            return take_history(body, sent, check_wanted)
        self._now = datetime.fromisoformat(head["now"])
        return take_in(self._campaign(head["store"], head["campaign"]), body, sent, check_wanted)

    def _campaign(self, url: str, name: str) -> Campaign:
        if url not in self._stores:
            self._stores[url] = Store(url)
        stored = self._stores[url].find(name)  # it may have been deleted meanwhile
        if (url, name) not in self._campaigns:
            self._campaigns[url, name] = Campaign(
                self._stores[url], stored, lambda: self._now, owns_store=False
            )
        return self._campaigns[url, name]


def check_wanted() -> None:
    """Raise `ClientLeft` once no one waits for the answer."""
    if not is_wanted():
        raise ClientLeft


if __name__ == "__main__":
    answer_questions(FileReader().answer)
