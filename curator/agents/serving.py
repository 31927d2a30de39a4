"""The tools as a server of the Model Context Protocol, on standard input and output.

The SDK reads messages and checks arguments by their types; what is wrong with them is told to the
agent, and nothing is charged.
"""

from pathlib import Path
from typing import Any

from curator.agents.tools import INSTRUCTIONS, AgentTools
from curator.client.connecting import connect

LONGEST = 20_000
"""Characters of an argument; longer ones are refused before anything reads them."""


def server_of(tools: AgentTools) -> Any:
    """The server of some tools.

    Raises:
        ModuleNotFoundError: the extra mcp is missing.
    """
    try:
        from mcp.server.mcpserver import MCPServer
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("agents need the extra mcp: pip install '.[mcp]'") from error

    server = MCPServer("curator", instructions=INSTRUCTIONS, log_level="ERROR")

    @server.tool()
    def describe() -> dict[str, Any]:
        """Data sets, with columns, types, bounds, keys, the privacy unit, and what is left."""
        return tools.describe()

    @server.tool()
    def explain(
        query: str,
        within: str | None = None,
        zcdp: str | None = None,
        epsilon: str | None = None,
        delta: str | None = None,
        gdp: str | None = None,
    ) -> dict[str, Any]:
        """What a query in SQL would cost, how accurate each number would be, whom it protects.

        It costs nothing. The arguments are those of `ask`.
        """
        return _short(
            tools.explain, query, within=within, zcdp=zcdp, epsilon=epsilon, delta=delta, gdp=gdp
        )

    @server.tool()
    def ask(
        query: str,
        within: str | None = None,
        zcdp: str | None = None,
        epsilon: str | None = None,
        delta: str | None = None,
        gdp: str | None = None,
    ) -> dict[str, Any]:
        """Ask a query in SQL: SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic.

        Give either `within`, the half-width of the interval of its one number, or what the whole
        query may cost: `zcdp` such as "1/500", or `epsilon`, with or without `delta`, or `gdp`.
        """
        return _short(
            tools.ask, query, within=within, zcdp=zcdp, epsilon=epsilon, delta=delta, gdp=gdp
        )

    @server.tool()
    def left(data_set: str) -> dict[str, Any]:
        """What was spent of a data set's budget, and what it still permits."""
        return _short(tools.left, data_set)

    @server.tool()
    def history(data_set: str) -> dict[str, Any]:
        """What was asked of a data set with this token, each with its cost."""
        return _short(tools.history, data_set)

    return server


def _short(run: Any, *texts: str, **more: str | None) -> dict[str, Any]:
    if any(len(each) > LONGEST for each in (*texts, *more.values()) if each is not None):
        return {"error": f"an argument has at most {LONGEST} characters", "charged": "nothing"}
    found: dict[str, Any] = run(*texts, **more)
    return found


def mcp(url: str, token: str = "") -> str:
    """Let an agent ask, by the Model Context Protocol, on standard input and output.

    URL is as for connect, such as unix:clinic/curator.sock, and --token the file of an analyst's
    token. The agent's program starts this command; docs/agents.md says how.
    """
    given = Path(token).read_text(encoding="utf-8").strip() if token else None
    with connect(url, given) as connection:
        server_of(AgentTools(connection)).run("stdio")
    return ""
