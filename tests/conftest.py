"""Settings that every test runs under."""

import os

from hypothesis import settings

# No deadline: a shared machine may pause for longer than any example takes. In CI the examples are
# derived from the test itself, so that a change is judged by the change alone.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "here")
