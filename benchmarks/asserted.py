"""The promises on cost that are not ratios: a test asserts each, without a clock."""

from __future__ import annotations

from collections.abc import Mapping

# What holds, and the test that fails when it does not.
ASSERTED: Mapping[str, str] = {
    "a delta without markup comes back as the same object": (
        "tests/test_parser_cost.py::test_a_delta_without_markup_comes_back_as_the_same_object"
    ),
    "the parser looks closely only at markers, and at what may hold one": (
        "tests/test_parser_cost.py::test_only_markers_and_what_may_hold_one_are_looked_at"
    ),
    "each character is read a few times, whatever the input": (
        "tests/test_parser_cost.py::test_each_character_is_read_a_few_times_whatever_the_input"
    ),
    "an idle parser takes at most 160 bytes": "tests/test_parser_cost.py::test_an_idle_parser_takes_160_bytes",
    "an open marker takes at most 6 bytes for each character held, and 1 KiB": (
        "tests/test_parser_cost.py::test_an_open_marker_takes_six_bytes_a_character"
    ),
    "the first event of a stream is out before the server sends its second chunk": (
        "tests/test_openai_raw_connections.py::test_the_first_event_is_out_before_the_server_sends_more"
    ),
    "`streamcite.js` has less than 6 KiB": "tests/test_ui_browser.py::test_the_module_is_small_and_stands_alone",
    "`import streamcite` loads its own modules and the standard library": (
        "tests/test_imports.py::test_only_the_core_and_the_standard_library_are_loaded"
    ),
}
