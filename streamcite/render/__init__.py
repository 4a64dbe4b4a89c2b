"""What comes out of a resolver, as text, Markdown, HTML or in a terminal: one file each, each a stage without I/O."""
