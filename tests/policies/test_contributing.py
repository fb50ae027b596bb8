"""The code in CONTRIBUTING.md works as it stands there."""

import re
import subprocess
import sys
from pathlib import Path


def test_the_examples_conform_and_run(tmp_path):
    text = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 3
    script = tmp_path / "contributing.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    # A process of its own: what the examples register is nothing for other tests.
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "mine" in done.stdout
    assert float(done.stdout.split()[-1]) > 40
