"""The sources back from what a model was shown: the inverse of `render`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from streamcite.format import OPENAI, CitationFormat
from streamcite.sources import Source, Sources

from .messages import TOOLS, read_messages
from .render import Material
from .scan import read_text


def read_material(
    material: str | Material | Iterable[object],
    *,
    roles: Collection[str] | None = None,
    format: CitationFormat = OPENAI,
) -> Sources:
    """Read the sources back from a prompt, or from messages, that show them in the forms of the guide.

    A source is read from

    * a line ``Citation Marker:`` with a marker, up to the next source. Without a marker it is the end of the source
      before it;
    * a line with nothing but ``【turn2file1】``, up to the next source. Where a text begins with such a line, this and
      those that follow may hold any source id of the format;
    * what stands between ``<BLOCK id="block1">`` and ``</BLOCK>``, in any case, without another such tag in it;
    * a message of a tool in another form: all of it, under the first id as in ``【turn2file1】`` in it.

    What `render_tool_result`, `render_messages` and `render_blocks` made of citable sources comes back equal in id,
    title, URL, date and text where nothing had to be made safe, else as it was shown: shown again, it is the same. From
    the first two also the unit; what comes from a block is a ``block``. The kind is the one that the id names, as in
    ``turn0file1`` and ``block1``. What is not shown does not come back: metadata, document, and sources that are not
    citable. Nor does it show where the text of the last source ends, but in blocks and numbered lines: in a prompt of
    more than sources, those forms are exact.

    Args:
        material: one text, or a `Material`; or messages as a client sends them: of chat completions (role ``tool``,
            ``function``, ``user``, ``system``, ``developer``) or items of the Responses API (``message``,
            ``function_call_output``, ``custom_tool_call_output``), as dicts or as the client's objects, whose content
            is a string, a `Material` or a list of parts with text. A `Material` in place of a message is of role
            ``tool``. Anything else is passed over.
        roles: whose messages are read; by default all but those of ``assistant``. An output is of role ``tool``.
        format: what a marker looks like.

    Returns:
        The sources in the order in which they were shown, which they are marked as. An id means what it meant first;
        one that was then shown with other content is ambiguous (`Sources.is_ambiguous`). Each message of the user makes
        what was shown before it stale (`Sources.is_stale`).

    Raises:
        TypeError: an argument has the wrong type. Nothing in a text or a message raises.

    Source: the guide, element 2 (how sources are shown to the model).
    """
    if isinstance(material, Material):
        material = material.text
    if isinstance(material, bytes | Mapping) or not isinstance(material, Iterable):
        raise TypeError(f"material: must be a text or messages, not {type(material).__name__}")
    if isinstance(roles, str) or not isinstance(roles, Collection | None):
        raise TypeError(f"roles: must be a collection of roles, not {roles!r}")
    sources = Sources(format)
    if isinstance(material, str):
        _show(sources, read_text(material, format))
        return sources
    for role, text in read_messages(material):
        if role == "user":
            sources.user_message()
        if role != "assistant" if roles is None else role in roles:
            _show(sources, read_text(text, format, whole=role in TOOLS))
    return sources


def _show(sources: Sources, shown: Iterable[Source]) -> None:
    for source in shown:
        known = sources.get(source.id)
        if known is None:
            try:
                sources.add(source)
            except ValueError:  # an id that looks like one, but that no citation can name
                continue
        elif known != source:
            sources.mark_ambiguous(source.id)
        sources.mark_shown(source.id)
