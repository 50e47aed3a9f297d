"""A bandit in a FastAPI application: which banner a visitor sees, and what a click teaches.

    pip install '.[serve]' fastapi
    uvicorn examples.web_application:app          # then open http://127.0.0.1:8000

A decision is on the disk before the page is sent, and the click that comes back, perhaps twice, perhaps after a
restart, counts once. The service itself is mounted under /decisions, with its page and its metrics.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException
from fastapi.responses import HTMLResponse, RedirectResponse

import hannan as hn
from hannan.serving.app import App

BANNERS = {"red": "Buy now", "blue": "Try it for a month", "green": "See how it works"}

store = hn.Store(os.environ.get("DECISIONS", "decisions.db"))
# Feedback is late, so a learner whose bound covers that. A visitor who has not clicked in an hour will not.
store.add("banner", hn.TsallisShannon(3, gains=True), wait=3600, default=0)
NAMES = list(BANNERS)


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    yield
    store.close()  # all is written, and a snapshot


app = FastAPI(lifespan=lifespan)
app.mount("/decisions", App(store))


@app.get("/", response_class=HTMLResponse)
async def page() -> str:
    # The store's calls wait for the disk, so they are made in a thread; many at once share one write.
    move = await asyncio.to_thread(store.act, "banner")
    name = NAMES[move.action]
    return f'<a style="color:{name}" href="/click?ticket={move.ticket}">{BANNERS[name]}</a>'


@app.get("/click")
async def click(ticket: str) -> RedirectResponse:
    try:
        await asyncio.to_thread(store.observe, ticket, 1)
    except ValueError as refused:  # an edited ticket, or another store's
        raise HTTPException(400, str(refused)) from None
    return RedirectResponse("/", status_code=303)
