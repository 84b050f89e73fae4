"""Promises as audits get them: by name, with what the guarantee of that name asks and bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reissue.guarantees import build
from reissue.model.promise import Promise


def promise(name: str, parameters: Mapping[str, Any]) -> Promise:
    """The promise of a guarantee."""
    return build(name, **parameters).promise
