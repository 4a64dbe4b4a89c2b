"""A page to try it all: ask, watch the answer with its citations, and see its sources and what is wrong with it.

It needs the extra: ``pip install "streamcite[serve]"``. The command is ``streamcite serve``; the application, in `app`,
is small enough to be copied, and stands as such in ``examples/live_ui``.
"""
