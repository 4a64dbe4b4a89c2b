"""What a model is shown: sources in the forms of the citation guide, and the sources back from what was shown.

Source: the guide, element 2 (how sources are shown to the model).
"""

from .read import read_material
from .render import Material, render_blocks, render_messages, render_tool_result
from .safe import Change

__all__ = ["Change", "Material", "read_material", "render_blocks", "render_messages", "render_tool_result"]
