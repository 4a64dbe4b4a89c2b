"""The Markdown of what the reader sees, and where in it a point stands. It needs the extra ``markdown``."""
