"""Where a tokenizer would cut a text: the deltas in which a model streams it."""

from __future__ import annotations

import re

# Han, kana, hangul and full-width letters: their tokens hold one or two code points.
_CJK = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff10-\uff9f"
_PRIVATE = "\ue000-\uf8ff"  # the marker tokens are here: never part of a longer piece
_EMOJI = "\u2190-\u2bff\U00010000-\U0010ffff"

# After o200k's pattern, which lets one leading character (a space, "(", "-") join a word.
# Runs are bounded, as a tokenizer's vocabulary bounds them.
_PIECE = re.compile(
    rf"""[{_PRIVATE}]
    | [{_CJK}]{{1,2}}
    | \d{{1,3}}
    | (?:[^\w\r\n{_PRIVATE}{_EMOJI}]|_)? (?:(?![{_CJK}])[^\W\d_]){{1,16}}
    | [ ]?[{_EMOJI}]\ufe0f?
    | [ ]?(?:[^\w\s{_PRIVATE}{_EMOJI}]|_){{1,16}}[\r\n]{{0,4}}
    | \s{{0,16}}[\r\n]{{1,16}}
    | \s{{1,16}}(?!\S)
    | .""",
    re.VERBOSE | re.DOTALL,
)


def token_deltas(text: str) -> list[str]:
    r"""Cut a text into the deltas in which a model with a tokenizer like o200k would stream it.

    No vocabulary is needed: a word with the character before it, digits in groups of up to three, runs of punctuation,
    CJK in ones and twos, an emoji alone, and each private-use character alone, so that
    ``\ue200cite\ue202turn0file1\ue202L8-L13\ue201`` streams in 13 pieces, as it does from a real model.

    Args:
        text: any text.

    Returns:
        The pieces, none empty; joined they are the text.
    """
    return _PIECE.findall(text)
