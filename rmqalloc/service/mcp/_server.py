"""The server: tools as the protocol has them, one call at a time."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from rmqalloc.documents.records import Checked
from rmqalloc.errors import ArgumentError, Error, hint, is_optional
from rmqalloc.service.mcp._bounds import text_of
from rmqalloc.service.mcp._stdio import checked_stdio
from rmqalloc.service.mcp._subject import Subject
from rmqalloc.service.mcp._tool_answers import NAMES_ARE_DATA, TOOLS, AssistantTool
from rmqalloc.text import did_you_mean, message, quoted
from rmqalloc.version import __version__

if TYPE_CHECKING:
    from mcp.server import Server, ServerRequestContext
    from mcp.types import (
        CallToolRequestParams,
        CallToolResult,
        ListToolsResult,
        PaginatedRequestParams,
        Tool,
    )

MOST_ARGUMENT_CHARACTERS = 64 * 1024
"""Longest arguments of a call, as JSON."""

_INSTRUCTIONS = (
    "Answers about RocketMQ consumer groups: queue owners, faults, and the effect of changes. Everything is "
    f"read-only. {NAMES_ARE_DATA} left_out counts omitted entries: narrow groups, topics or where to see them. "
    "If is_partial is true, lacks lists the parts that could not be read."
)


def make_server(subject: Subject) -> Server[Any]:
    """Return a server of all tools about a file or a cluster.

    Parameters
    ----------
    subject : Subject

    Raises
    ------
    ModuleNotFoundError
        The package ``mcp`` is not installed.

    Examples
    --------
    >>> make_server(Subject(files=["cluster.yaml"])).name
    'rmqalloc'
    """
    from anyio import CapacityLimiter, to_thread
    from mcp.server import Server
    from mcp.types import CallToolResult, ListToolsResult, TextContent

    limiter: list[CapacityLimiter] = []

    async def list_tools(
        _: ServerRequestContext[Any], __: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(
            tools=[_described(name, one, subject) for name, one in TOOLS.items()]
        )

    async def call_tool(
        _: ServerRequestContext[Any], call: CallToolRequestParams
    ) -> CallToolResult:
        if not limiter:  # it belongs to the loop that runs
            limiter.append(CapacityLimiter(1))
        try:
            answer = partial(answer_of, subject, call.name, call.arguments or {})
            found = await to_thread.run_sync(answer, limiter=limiter[0])
        except (Error, OSError) as error:
            return CallToolResult(
                content=[TextContent(type="text", text=message(str(error)))], is_error=True
            )
        except ImportError as error:
            if not is_optional(error):
                raise
            return CallToolResult(
                content=[TextContent(type="text", text=hint(error))], is_error=True
            )
        return CallToolResult(
            content=[TextContent(type="text", text=text_of(found))], structured_content=found
        )

    return Server(
        "rmqalloc",
        version=__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def run_over_stdio(subject: Subject) -> None:
    """Serve until standard input ends; see `make_server`."""
    import anyio
    from mcp.server.stdio import stdio_server

    server = make_server(subject)

    async def run() -> None:
        async with stdio_server(*checked_stdio()) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(run)


def answer_of(subject: Subject, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of one tool; raise an `Error` if arguments violate its schema."""
    tool = TOOLS.get(name)
    if tool is None:
        raise ArgumentError(
            f"there is no tool {quoted(name)}; the tools are {', '.join(TOOLS)}{did_you_mean(name, TOOLS)}"
        )
    n = _n_characters(given)
    if n > MOST_ARGUMENT_CHARACTERS:
        raise ArgumentError(
            f"the arguments are {n:,} characters of JSON; the limit is {MOST_ARGUMENT_CHARACTERS:,}"
        )
    arguments: Checked = tool.takes.of(given)
    return tool.answers(subject, arguments)


def _n_characters(given: dict[str, Any]) -> int:
    """Return how long arguments are as JSON."""
    try:
        return len(json.dumps(given, allow_nan=False))
    except (ValueError, RecursionError) as error:
        text = "the arguments contain a number that JSON does not have, or lists nested too deeply"
        raise ArgumentError(text) from error


def _described(name: str, tool: AssistantTool, subject: Subject) -> Tool:
    """Return a tool as the protocol describes it."""
    from mcp.types import Tool, ToolAnnotations

    return Tool(
        name=name,
        description=f"{tool.says} About the {subject.label}, which is only read. {NAMES_ARE_DATA}",
        input_schema=tool.takes.schema(),
        output_schema={"type": "object"},
        annotations=ToolAnnotations(
            read_only_hint=True,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=subject.name_server is not None,
        ),
    )
