import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py")
# Sessions for the conftest to judge, each a file of its own: no test of this project is skipped or expected to fail.
PASSES = "def test_passes(): pass\n"
SKIPS = "import pytest\ndef test_skips(): pytest.skip('no need')\n"
FAILS = "import pytest\n@pytest.mark.xfail\ndef test_fails(): assert False\n"
NOT_COLLECTED = "import pytest\npytest.skip('no need', allow_module_level=True)\n"


@pytest.mark.parametrize(
    ("tests", "status"),
    [(PASSES, 0), (SKIPS, 1), (NOT_COLLECTED, 1), (FAILS, 1)],
    ids=["none", "a test", "a module", "an expected failure"],
)
def test_a_skip_fails_the_session_where_none_is_allowed(tests: str, status: int, tmp_path: Path) -> None:
    shutil.copy(CONFTEST, tmp_path)
    (tmp_path / "test_passes.py").write_text(PASSES)
    (tmp_path / "test_it.py").write_text(tests)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pytest", "--rootdir", tmp_path, tmp_path],
        cwd=tmp_path,
        env=os.environ | {"STREAMCITE_NO_SKIPS": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stdout
