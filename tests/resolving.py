"""Two sources, of one URL and of none, that the tests of the resolver cite."""

from streamcite import (
    Source,
)

A = Source("turn0file0", "one\ntwo\nthree\n", url="https://example.org/a")
B = Source("turn0file1", "four\nfive\n", title="B")
SOURCES = {source.id: source for source in (A, B)}
