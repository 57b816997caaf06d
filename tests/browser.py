"""The browser in which the page is tested: where it is, and what is said where there is none.

python3 tests/browser.py       # exits with 1, after the sentence, where there is none
"""

from __future__ import annotations

import shutil
import sys

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

MISSING = "The page cannot be tested: there is no Chromium (on Debian: apt-get install chromium)."

if __name__ == "__main__" and CHROMIUM is None:
    sys.exit(MISSING)
