"""The site: `make docs` builds it from these pages, offline; a warning is an error."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_site"))
# Notebooks and the gallery are programs of their own: they find the package where this one did.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE.parent / "src"), os.environ.get("PYTHONPATH")]))
sys.path[:0] = [str(HERE.parent / "src"), str(HERE.parent)]

import hannan  # noqa: E402

project, author = "Hannan", "The Hannan developers"
project_copyright = "The Hannan developers, MIT licence"
version = release = hannan.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    # Our own, in _site/
    "reference",
    "project_pages",
    "mathml",
    "subscripts",
    "llms",
]
exclude_patterns = ["_site", "**/*.ipynb", "examples/**/*.py"]
# The gallery's settings hold functions; pages that a pattern of the contents takes may be none.
suppress_warnings = ["config.cache", "toc.empty_glob"]
nitpicky = True
# What annotations name besides our public names: other packages' types, and our own that have no page.
nitpick_ignore_regex = [("py:.*", r"(?!hannan\.[A-Za-z0-9_]+$).*")]

# Pages
highlight_language = "none"
myst_enable_extensions = ["deflist", "colon_fence", "attrs_block"]
myst_heading_anchors = 3
myst_fence_as_directive = ["math"]
nb_execution_mode = "auto"
nb_execution_raise_on_error = True
nb_execution_timeout = 60
nb_merge_streams = True
nb_execution_show_tb = True
# Kernels warn that others on this machine might listen to them: of pages that are made here that is no news.
profile = HERE.parent / "build" / "docs" / "ipython" / "profile_default"
profile.mkdir(parents=True, exist_ok=True)
(profile / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 'ERROR'\n", encoding="utf-8")
os.environ["IPYTHONDIR"] = str(profile.parent)
logging.getLogger("traitlets").setLevel(logging.WARNING)  # else every notebook is announced

# Reference
smartquotes = False  # a prime is a prime
default_role = "py:obj"  # links public names and shows other code as code
autosummary_generate = True
numpydoc_show_class_members = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 96
add_module_names = False

# Gallery
sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples" / "gallery"),
    "gallery_dirs": "examples",
    "filename_pattern": r"plot_",
    "doc_module": ("hannan",),
    "reference_url": {"hannan": None},
    "backreferences_dir": "examples/backreferences",
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "write_computation_times": False,
    "plot_gallery": True,
    "parallel": 2,
    "copyfile_regex": "",
}

# Look
html_theme = "furo"
html_title = f"Hannan {version}"
html_static_path = ["_site/static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"sidebar_hide_name": False}
templates_path = ["_site/templates"]
