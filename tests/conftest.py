"""Property tests here draw the same cases every time, and may wait for a kernel to compile."""

from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")
