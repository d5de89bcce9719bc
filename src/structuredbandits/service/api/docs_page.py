"""The page /docs: the API documentation, made from its OpenAPI document, without any network.

The page and the document are made at the first request and sent from memory afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import orjson
from fastapi import APIRouter, FastAPI, Request
from starlette.responses import Response

from structuredbandits.service.web.documents import Document

router = APIRouter(include_in_schema=False)
_STYLE = Path(__file__).parent / "reference.css"
_METHODS = ("get", "post", "put", "patch", "delete")


@router.get("/docs")
async def docs(request: Request) -> Response:
    """All routes on one page."""
    return _document(request, "docs", _rendered).response(request)


@router.get("/docs/reference.css")
async def style(request: Request) -> Response:
    """How the page looks."""
    return _document(request, "style", _style).response(request)


@router.get("/openapi.json")
async def openapi(request: Request) -> Response:
    """The OpenAPI document."""
    return _document(request, "openapi", _openapi).response(request)


def _document(request: Request, name: str, make: Callable[[FastAPI], Document]) -> Document:
    """Return a document of an app, made once."""
    app = request.app
    if not hasattr(app.state, "documents"):
        app.state.documents = {}
    held: dict[str, Document] = app.state.documents
    if name not in held:
        held[name] = make(app)
    return held[name]


def _rendered(app: FastAPI) -> Document:
    return Document(page(app.openapi()).encode(), "text/html; charset=utf-8")


def _style(_app: FastAPI) -> Document:
    return Document(_STYLE.read_bytes(), "text/css; charset=utf-8")


def _openapi(app: FastAPI) -> Document:
    return Document(orjson.dumps(app.openapi()), "application/json")


def page(document: dict[str, Any]) -> str:
    """The documentation as HTML."""
    operations = [
        (operation.get("tags", ["other"])[0], method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method in _METHODS
    ]
    groups = list(dict.fromkeys(tag for tag, *_ in operations))
    links = "".join(f'<li><a href="#{escape(tag)}">{escape(tag)}</a></li>' for tag in groups)
    sections = "".join(
        f'<section id="{escape(tag)}"><h2>{escape(tag.capitalize())}</h2>'
        + "".join(
            _operation(document, method, path, operation)
            for of, method, path, operation in operations
            if of == tag
        )
        + "</section>"
        for tag in groups
    )
    info = document["info"]
    paragraphs = "".join(
        f"<p>{_inline(part)}</p>" for part in info["description"].strip().split("\n\n")
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(info['title'])} API</title>"
        '<link rel="stylesheet" href="/docs/reference.css"></head><body><main>'
        f"<h1>{escape(info['title'])} <small>API {escape(info['version'])}</small></h1>"
        f'{paragraphs}<p>As a file for tools: <a href="/openapi.json">openapi.json</a>.</p>'
        f'<nav aria-label="Contents"><ul>{links}</ul></nav>{sections}</main></body></html>'
    )


def _inline(text: str) -> str:
    """The two marks of Markdown that our sentences use."""
    parts = escape(" ".join(text.split())).split("`")
    code = "".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(parts))
    bold = code.split("**")
    return "".join(f"<strong>{p}</strong>" if i % 2 else p for i, p in enumerate(bold))


def _operation(document: dict[str, Any], method: str, path: str, operation: dict[str, Any]) -> str:
    paragraphs = operation.get("description", operation.get("summary", "")).split("\n\n")
    text = "".join(f"<p>{_inline(part)}</p>" for part in paragraphs)
    return (
        f'<article id="{escape(operation["operationId"])}">'
        f'<h3><span class="method {method}">{method.upper()}</span> <code>{escape(path)}</code>'
        f"</h3>{text}{_parameters(operation)}{_body(document, operation)}"
        f"{_responses(document, operation)}</article>"
    )


def _parameters(operation: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><td><code>{escape(one['name'])}</code></td><td>{escape(one['in'])}</td>"
        f"<td>{_inline(one.get('description', ''))}</td></tr>"
        for one in operation.get("parameters", ())
    )
    if not rows:
        return ""
    head = "<tr><th>parameter</th><th>in</th><th></th></tr>"
    return f"<table>{head}{rows}</table>"


def _body(document: dict[str, Any], operation: dict[str, Any]) -> str:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return ""
    schema = content["schema"]
    shown = json.dumps(example(document, schema), indent=2, ensure_ascii=False)
    return f"<h4>Body</h4>{_fields(document, schema)}<pre>{escape(shown)}</pre>"


def _fields(document: dict[str, Any], schema: dict[str, Any]) -> str:
    resolved = _resolve(document, schema)
    rows = "".join(
        f"<tr><td><code>{escape(name)}</code></td>"
        f"<td>{'required' if name in resolved.get('required', ()) else 'optional'}</td>"
        f"<td>{_inline(field.get('description', ''))}</td></tr>"
        for name, field in resolved.get("properties", {}).items()
    )
    return f"<table>{rows}</table>" if rows else ""


def _responses(document: dict[str, Any], operation: dict[str, Any]) -> str:
    rows = []
    for status, response in operation["responses"].items():
        content = response.get("content", {}).get("application/json", {})
        name = str(content.get("schema", {}).get("$ref", "")).rpartition("/")[2]
        kind = f" <code>{escape(name)}</code>" if name else ""
        shown = ""
        if status.startswith("2") and content:
            value = json.dumps(example(document, content["schema"]), indent=2, ensure_ascii=False)
            shown = f"<pre>{escape(value)}</pre>"
        rows.append(
            f"<tr><td>{escape(status)}</td>"
            f"<td>{_inline(response['description'])}{kind}{shown}</td></tr>"
        )
    return f"<details><summary>Answers</summary><table>{''.join(rows)}</table></details>"


def _resolve(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        found: dict[str, Any] = document["components"]["schemas"][name]
        return found
    for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        if one.get("type") != "null":
            return _resolve(document, one)
    return schema


def example(document: dict[str, Any], schema: dict[str, Any], depth: int = 0) -> Any:
    """A value that fits a schema, from the examples in it.

    Examples
    --------
    >>> example({}, {"type": "array", "items": {"type": "string", "examples": ["ana"]}})
    ['ana']
    """
    for holder in (schema, _resolve(document, schema)):
        if holder.get("examples"):
            return holder["examples"][0]
        if holder.get("default") is not None:
            return holder["default"]
    resolved = _resolve(document, schema)
    if "enum" in resolved:
        return resolved["enum"][0]
    kind = resolved.get("type")
    if kind == "object" and depth < 4:
        return {
            name: example(document, field, depth + 1)
            for name, field in resolved.get("properties", {}).items()
        }
    if kind == "array":
        return [example(document, resolved.get("items", {}), depth + 1)]
    plain = {"string": "text", "integer": 1, "number": 1.0, "boolean": True}
    return plain.get(str(kind))
