"""The policy in CONTRIBUTING.md works as it stands there."""

import re
from pathlib import Path


def test_the_example_policy_conforms_and_runs(capsys):
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 2
    exec(compile("\n".join(blocks), "CONTRIBUTING.md", "exec"), {})
    assert "mine" in capsys.readouterr().out
