"""The purposes of blocks as compiled code knows them: their places in `base.PURPOSES`.

Nothing here is compiled, but compiled code freezes these numbers. So the file is named like the
kernels, and the cache of compiled code (see `latesum._compile`) notices when one is changed.
"""

from __future__ import annotations

LEARN = 0
BRIDGE = 1
COMMIT = 2
OVERRIDE = 3
