"""The secret in a person's link, and the name under which the server knows it."""

from __future__ import annotations

import hashlib
import re
import secrets

_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


def new_token() -> str:
    """256 random bits as 43 characters that a URL may hold."""
    return secrets.token_urlsafe(32)


def entry_id(token: object) -> str | None:
    """SHA-256 (hex) of a token, which names its file; None for anything that cannot be a token.

    The folder thus holds no secret, no character of the token reaches a path, and how long a look-up takes says
    nothing about tokens that exist.
    """
    if not isinstance(token, str) or not _TOKEN.fullmatch(token):
        return None
    return hashlib.sha256(token.encode()).hexdigest()
