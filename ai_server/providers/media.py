"""What a request must satisfy before any provider is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ai_server.providers.contract import ImagePart

if TYPE_CHECKING:
    from ai_server.providers.catalog import ModelRow
    from ai_server.providers.contract import GenerationRequest
    from ai_server.providers.failures import Failures

IMAGE_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
IMAGE_LIMIT: Final = 3 * 1024 * 1024
"""Bytes of one image, inclusive."""


def check_request(request: GenerationRequest, row: ModelRow, failures: Failures) -> None:
    """Refuse what the model cannot take, without a call.

    Raises:
        ProviderRefused: an image that it does not see, of another type or too large; tools that it cannot call; an
            output cap over its maximum.
    """
    for image in _images(request):
        if "image" not in row.capabilities:
            raise failures.refused(
                "unsupported-image", f"the model {row.id} does not read images; choose one that does"
            )
        if image.mime_type not in IMAGE_TYPES:
            raise failures.refused(
                "unsupported-image", "it reads PNG, JPEG, WebP and GIF images only; convert the image"
            )
        if not image.data or len(image.data) > IMAGE_LIMIT:
            raise failures.refused("image-size", f"an image must have 1 to {IMAGE_LIMIT:,} bytes; shrink it")
    if request.tools and "tools" not in row.capabilities:
        raise failures.refused("unsupported-tools", f"the model {row.id} does not call tools; choose one that does")
    if not 0 < request.max_output_tokens <= max(row.max_billable_output, 1):
        remedy = f"the output cap must be 1 to {row.max_billable_output:,} tokens for {row.id}; change it"
        raise failures.refused("output-cap", remedy)


def _images(request: GenerationRequest) -> list[ImagePart]:
    return [part for message in request.messages for part in message.parts if isinstance(part, ImagePart)]
