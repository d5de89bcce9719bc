"""Waiting between two attempts, one function per kind of client."""

from __future__ import annotations

from time import sleep as sync_sleep

__all__ = ["async_sleep", "sync_sleep"]


async def async_sleep(seconds: float) -> None:
    """Wait in the running event loop, of asyncio or trio."""
    import anyio

    await anyio.sleep(seconds)
