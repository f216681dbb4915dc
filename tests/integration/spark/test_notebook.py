"""The notebook of the guide runs, and shows what its page says."""

import pytest
from programs import python


@pytest.mark.spark
def test_the_notebook_shows_what_its_page_says():
    done = python("-m", "notebook_page")
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
