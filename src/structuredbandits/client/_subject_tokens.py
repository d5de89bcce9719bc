"""Signs subject tokens, which a program gives to the web pages of its visitors."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time

from structuredbandits.errors import InvalidInput


def sign_subject(secret: str, subject: str, *, seconds: float = 86_400.0) -> str:
    """Return a token that lets a page decide and reward for one subject with a publishable key.

    Parameters
    ----------
    secret
        The token secret of the key, as printed when the key was created. Keep it on the server.
    subject
        The subject of the visitor.
    seconds
        How long the token is valid.

    Examples
    --------
    >>> sign_subject("secret", "visitor-7", seconds=3600).split(".")[1]
    'dmlzaXRvci03'
    """
    if not subject:
        raise InvalidInput("the subject is empty; give the ID of the visitor.")
    if not seconds > 0:
        raise InvalidInput(f"seconds is {seconds!r}; give a number above 0.")
    encoded = base64.urlsafe_b64encode(subject.encode()).decode().rstrip("=")
    content = f"{int(time.time() + seconds)}.{encoded}"
    signature = hmac.new(secret.encode(), content.encode(), hashlib.sha256).hexdigest()
    return f"{content}.{signature}"
