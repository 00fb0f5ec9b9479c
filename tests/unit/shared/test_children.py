"""A child's calls leave nothing behind in the process that made them."""

import gc
import weakref

import pytest

from shared.children import Child
from tests.waiting import eventually


class Upload:
    """Stands for bytes, which cannot be watched."""


def nothing() -> None:
    """Begin a child."""


def refuse(upload: Upload) -> None:
    """Refuse what came."""
    raise ValueError(type(upload).__name__)


@pytest.fixture
async def child():
    made = Child(nothing)
    yield made
    await made.close()


async def test_what_a_child_refused_is_freed_without_a_look_for_garbage(child):
    """P27: refused uploads of 20 MB each must not wait for a look for garbage."""
    upload = Upload()
    watched = weakref.ref(upload)
    gc.disable()
    try:
        with pytest.raises(ValueError, match="Upload"):
            await child.call(refuse, upload)
        del upload
        await eventually(lambda: watched() is None, within_s=10)  # the pool's own thread lets go a moment later
    finally:
        gc.enable()
