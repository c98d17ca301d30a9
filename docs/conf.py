"""How Sphinx builds the site: `python tools/site/build_site.py` calls it. The pages themselves are plain Markdown,
which GitHub and editors show, too; what only a site has (pages of environments with pictures) comes from
docs/_site/."""

import batchenv

project = "batchenv"
author = "The batchenv authors"
copyright = "The batchenv authors, Apache-2.0"
version = release = batchenv.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["README.md", "_site", "_build"]
default_role = "code"  # docstrings write `name`, as Markdown does
nitpicky = False

myst_enable_extensions = ["colon_fence", "attrs_inline"]
myst_heading_anchors = 4  # links to headings are those of GitHub

autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "groupwise"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_custom_sections = [("Keys", "params_style")]
maximum_signature_line_length = 80
python_use_unqualified_type_names = True

copybutton_exclude = ".linenos, .gp, .go"

html_theme = "furo"
html_title = "batchenv"
html_static_path = ["_site/static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#b02a45", "color-brand-content": "#b02a45"},
    "dark_css_variables": {"color-brand-primary": "#ff8fa3", "color-brand-content": "#ff8fa3"},
    "navigation_with_keys": True,
}
