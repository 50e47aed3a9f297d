"""Settings of the site, which `make docs` builds offline; warnings are errors."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_site"))
# Notebooks and the gallery run in other processes, which must find the same package.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE.parent / "src"), os.environ.get("PYTHONPATH")]))
sys.path[:0] = [str(HERE.parent / "src"), str(HERE.parent)]

import hannan  # noqa: E402

project, author = "Hannan", "The Hannan developers"
project_copyright = "The Hannan developers, MIT license"
version = release = hannan.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "sphinx_design",
    # Our own, in _site/
    "reference",
    "project_pages",
    "mathml",
    "subscripts",
    "keywords",
    "llms",
]
exclude_patterns = ["_site", "**/*.ipynb", "examples/**/*.py"]
# The settings of the gallery contain functions, which Sphinx cannot store.
suppress_warnings = ["config.cache", "toc.empty_glob"]
nitpicky = True
# Types of other packages, and internal types, have no page.
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
# Hide the warning of kernels that other users of the machine might connect to them.
profile = HERE.parent / "build" / "docs" / "ipython" / "profile_default"
profile.mkdir(parents=True, exist_ok=True)
(profile / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 'ERROR'\n", encoding="utf-8")
os.environ["IPYTHONDIR"] = str(profile.parent)
logging.getLogger("traitlets").setLevel(logging.WARNING)  # hides a message per notebook

# The copy button leaves out prompts and the output of doctests.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

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
