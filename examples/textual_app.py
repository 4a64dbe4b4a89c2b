"""Show an answer in the terminal while it streams, with links to its sources: a Textual app.

    pip install textual ".[markdown,testing]"
    python examples/textual_app.py

It streams a recorded answer from a server of its own; with a key in OPENAI_API_KEY a model's.
"""

import os

from openai import AsyncOpenAI
from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Footer, Markdown

from streamcite import instructions, render_blocks
from streamcite.openai import stream_chat
from streamcite.render.markdown import MarkdownRenderer
from streamcite.testing import recorded_answers, serve

RECORDED = recorded_answers()["english"]
SYSTEM = f"{instructions(material='blocks')}\n\n{render_blocks(RECORDED.sources.values())}"


class AnswerApp(App[None]):
    """Ask when the app starts, and show what comes."""

    BINDINGS = [("q", "quit", "Quit")]  # noqa: RUF012  # how Textual has it

    def __init__(self, client: AsyncOpenAI, model: str) -> None:
        super().__init__()
        self.client = client
        self.model = model

    def compose(self) -> ComposeResult:
        """Build the screen."""
        yield VerticalScroll(Markdown())
        yield Footer()

    def on_mount(self) -> None:
        """Begin to ask."""
        self.run_worker(self.ask())

    async def ask(self) -> None:
        """Write the answer as Markdown, piece by piece."""
        renderer = MarkdownRenderer()
        request = stream_chat(
            self.client,
            model=self.model,
            messages=[{"role": "system", "content": SYSTEM}, {"role": "user", "content": RECORDED.question}],
            sources=RECORDED.sources,
        )
        stream = Markdown.get_stream(self.query_one(Markdown))
        async with request as events:
            async for event in events:
                await stream.write(renderer.feed([event]))
        await stream.write(renderer.close())
        await stream.stop()


def main() -> None:
    """Run the app."""
    with serve(pace=0.005) as server:
        if os.environ.get("OPENAI_API_KEY"):
            AnswerApp(AsyncOpenAI(), "gpt-5").run()
        else:
            AnswerApp(AsyncOpenAI(base_url=server.base_url, api_key="any"), RECORDED.id).run()


if __name__ == "__main__":
    main()
