"""The documentation, for Sphinx: ``python -m sphinx -W docs docs/_build`` needs no network."""

import importlib.util
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent))

import claude_sync  # noqa: E402

project = "claude_sync"
author = "The claude_sync authors"
copyright = author
version = release = claude_sync.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "generated"]
exclude_patterns = ["_build"]
default_role = "literal"
highlight_language = "default"
# A name of an attribute in a docstring may be that of several classes.
suppress_warnings = ["ref.python"]
autodoc_mock_imports = [] if importlib.util.find_spec("_tkinter") else ["tkinter"]

# The reference has each name under which programs import it.
add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True}
napoleon_use_ivar = True
napoleon_use_rtype = False
python_use_unqualified_type_names = True
maximum_signature_line_length = 90

html_theme = "furo"
html_title = f"claude_sync {release}"
html_static_path = ["_static"]
html_css_files = ["extra.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
