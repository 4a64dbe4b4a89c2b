"""What the tests of lint share: markers, sources, and answers made of all that can go wrong."""

from hypothesis import strategies as st

from streamcite import OPENAI, Reference, Source
from streamcite.lint import Rule, lint
from tests.markers import cite

MARKER = OPENAI.write([Reference("turn0file1", "L1-L2")])
SOURCES = {
    "turn0file1": Source("turn0file1", "one\ntwo\nthree"),
    "turn0file2": Source("turn0file2", "one", citable=False),
    "block-7": Source("block-7", "A block.", unit="block"),
    "kb:12.a": Source("kb:12.a", "A page."),
    "handbook": Source("handbook", "A book."),
    "1234": Source("1234", "A number."),
}


def rules(answer: str, sources: dict[str, Source] | None = SOURCES) -> list[Rule]:
    """Lint an answer in which @ stands for a marker that is right."""
    return [finding.rule for finding in lint(answer.replace("@", MARKER), sources)]


MARKDOWN = (
    *("**", "*", "_", "__", "`", "``", "~~", "```\n", "~~~\n", "\n", "\n", "\n\n", "    ", "\t", " ", "> ", "- "),
    *("1. ", "# ", " #", "===\n", "---\n", "|", "\\|", "|-|-|\n", "\\", "a ", "b", "Word.", "![", "[", "](a)", "&amp;"),
)
PIECES = (
    *(MARKER, MARKER, MARKER, cite("block-7"), cite("x9"), cite("turn0file1", "#"), "\ue200cite\ue202turn0file1 a"),
    *("\ue200", "\ue201", "\ue202", *MARKDOWN, "\r\n", "\r", "<b>", "</b>", "<div>\n", "turn0file1", "block-7"),
    *("【", "】", ".", "。", "\0", "\ud800", "\u3000", "!", ".NET", ":", "://a(", ")", "\u200b"),
    *("<p>", "</p>\n", "<!--", "-->", "[^1]:", "[x] ", "<pre>\n", "\ue200ci"),
)
answers = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)
