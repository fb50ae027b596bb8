"""What operators do to a campaign, as methods: each takes who and why, and all is kept in the log."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from latesum._checks import whole_number
from latesum.campaigns.acts import Acted, OperatorAct
from latesum.campaigns.changes import plain_request
from latesum.campaigns.config import CampaignConfig
from latesum.campaigns.setting_fields import read_option_name
from latesum.policies import Policy


class Operated(ABC):
    """The acts of a campaign. All of them refuse with `NotPossible` what cannot be done as things are."""

    @abstractmethod
    def current_settings(self) -> CampaignConfig:
        """What the campaign is set up with now."""

    @abstractmethod
    def policy(self) -> Policy:
        """The policy as it stands now."""

    @abstractmethod
    def leading(self) -> int:
        """The option that looks best now."""

    @abstractmethod
    def _act(self, act: OperatorAct, *, dry_run: bool = False) -> Acted:
        """Do it, in one transaction, or only say what it would do."""

    def _region(self, name: str | None) -> str:
        """The region that an act is for; empty for all."""
        return "" if name is None else self.current_settings().region(name)

    def hold(
        self, *, who: str, why: str, key: str | None = None, region: str | None = None
    ) -> Acted:
        """Keep showing the present option until `resume`. An override that runs goes on first.

        Args:
            who: Who does it.
            why: The reason.
            key: Under one key an act happens once, however often it is sent.
            region: The region that it is for, in a campaign that has some; otherwise all.
        """
        return self._act(OperatorAct.read("hold", who, why, key, self._region(region)))

    def resume(
        self, *, who: str, why: str, key: str | None = None, region: str | None = None
    ) -> Acted:
        """Let the policy decide again. An override goes on after a hold; without a hold it ends.

        Args:
            who: Who does it.
            why: The reason.
            key: As for `hold`.
            region: As for `hold`.
        """
        return self._act(OperatorAct.read("resume", who, why, key, self._region(region)))

    def override(
        self, option: str, *, buckets: int = 1, who: str, why: str, key: str | None = None,
        region: str | None = None,
    ) -> Acted:  # fmt: skip
        """Show this option in the next buckets that are decided.

        Args:
            option: The option.
            buckets: The number of buckets.
            who: Who does it.
            why: The reason.
            key: As for `hold`.
            region: As for `hold`.
        """
        arm = self.current_settings().option(option)
        count = whole_number(buckets, "the number of buckets", at_least=1)
        where = self._region(region)
        return self._act(
            OperatorAct.read("override", who, why, key, where, option=arm, buckets=count)
        )

    def cancel_override(
        self, *, who: str, why: str, key: str | None = None, region: str | None = None
    ) -> Acted:
        """End an override that is not over; a hold goes on.

        Args:
            who: Who does it.
            why: The reason.
            key: As for `hold`.
            region: As for `hold`.
        """
        return self._act(OperatorAct.read("cancel-override", who, why, key, self._region(region)))

    def drop(
        self, option: str, *, who: str, why: str, key: str | None = None, region: str | None = None
    ) -> Acted:
        """Take an option away, until `bring_back`.

        Args:
            option: The option.
            who: Who does it.
            why: The reason.
            key: As for `hold`.
            region: As for `hold`.
        """
        arm = self.current_settings().option(option)
        where = self._region(region)
        return self._act(OperatorAct.read("drop", who, why, key, where, option=arm))

    def bring_back(
        self, option: str, *, who: str, why: str, key: str | None = None, region: str | None = None
    ) -> Acted:
        """Undo a drop: the policy goes on as if the option had never been away.

        Args:
            option: The option.
            who: Who does it.
            why: The reason.
            key: As for `hold`.
            region: As for `hold`.
        """
        arm = self.current_settings().option(option)
        where = self._region(region)
        return self._act(OperatorAct.read("bring-back", who, why, key, where, option=arm))

    def add(self, option: str, *, who: str, why: str, key: str | None = None) -> Acted:
        """Add an option; its first block is asked for next. Policies that cannot do that refuse.

        Only options that were never shown either, or whose turn it is, come before it.

        Args:
            option: The new option's name.
            who: Who does it.
            why: The reason.
            key: As for `hold`.
        """
        act = OperatorAct.read("add", who, why, key, name=read_option_name(option))
        done = self._act(act)
        if done.note or done.repeated:
            return done
        if self.current_settings().is_market:
            note = f"{done.option} is shown in a region as soon as something changes there."
            return done._replace(note=note)
        policy = self.policy()
        first = policy.names[policy.ask().arm]
        if first == done.option:
            return done._replace(note=f"{first} is asked for next.")
        return done._replace(note=f"{first} is asked for first, and then {done.option}.")

    def rename(
        self, option: str, new_name: str, *, who: str, why: str, key: str | None = None
    ) -> Acted:
        """Give an option another name; nothing else changes.

        Args:
            option: The option.
            new_name: Its new name.
            who: Who does it.
            why: The reason.
            key: As for `hold`.
        """
        settings = self.current_settings()
        # Sent again under its key, the option has its new name already.
        known = option if option in settings.options or key is None else new_name
        arm, name = settings.option(known), read_option_name(new_name)
        return self._act(OperatorAct.read("rename", who, why, key, option=arm, name=name))

    def change(
        self, *, who: str, why: str, key: str | None = None, dry_run: bool = False, **settings: Any
    ) -> Acted:
        """Change what the campaign is set up with, from the next decision on.

        The policy of the new settings learns from the whole log; decisions that were taken stay.

        Args:
            who: Who does it.
            why: The reason.
            key: As for `hold`.
            dry_run: Change nothing; the note says what the change would do.
            settings: Any of `latesum.campaigns.changes.CHANGEABLE`, as for a new campaign. Of the
                `parameters`, those that are not named stay.
        """
        asked = plain_request(settings)
        return self._act(OperatorAct.read("change", who, why, key, asked=asked), dry_run=dry_run)

    def finish(
        self, option: str | None = None, *, who: str, why: str, key: str | None = None
    ) -> Acted:
        """End the campaign. From now on `decide` answers `option`, by default the best so far.

        Args:
            option: The option to show from now on.
            who: Who does it.
            why: The reason.
            key: As for `hold`.
        """
        settings = self.current_settings()
        arm = self.leading() if option is None else settings.option(option)
        act = OperatorAct.read("finish", who, why, key, option=arm)
        return self._act(act._replace(any_option=option is None))

    def reopen(self, *, who: str, why: str, key: str | None = None) -> Acted:
        """Go on with a finished campaign, from the next bucket on; holds and overrides are over.

        Args:
            who: Who does it.
            why: The reason.
            key: As for `hold`.
        """
        return self._act(OperatorAct.read("reopen", who, why, key))

    def archive(self, *, who: str, why: str, key: str | None = None) -> Acted:
        """Put a finished campaign away: lists leave it out. `reopen` takes it back.

        Args:
            who: Who does it.
            why: The reason.
            key: As for `hold`.
        """
        return self._act(OperatorAct.read("archive", who, why, key))
