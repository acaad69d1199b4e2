"""Bundle the scripts that draw charts in a browser."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from importlib.metadata import version

from assets.fingerprints.digests import digest_of
from warehouse.storage.atomic import fsync, replace_file
from warehouse.storage.file_system import cache_folder

SNIPPET = "window.vegaEmbed = vegaEmbed;"
"""The only name that the bundle exports to a page."""


@cache
def bundle_name() -> str:
    """Return the file name of the bundle; it changes with the version of the libraries."""
    return f"vega-{digest_of(version('vl-convert-python'), SNIPPET)[:12]}.js"


@cache
def vega_bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script that loads nothing else.

    Bundling takes more than a second and gives the same script for every project. The script is
    kept in the user's cache if there is one.
    """
    # A RuntimeError: the user has no home directory.
    with suppress(OSError, RuntimeError):
        return (cache_folder() / bundle_name()).read_text(encoding="utf-8")
    import vl_convert

    script: str = vl_convert.javascript_bundle(SNIPPET)
    with suppress(OSError, RuntimeError):
        cache_folder().mkdir(parents=True, exist_ok=True)
        with replace_file(cache_folder() / bundle_name()) as partial:
            partial.write_text(script, encoding="utf-8")
            # Half a script after a power cut would be in every later report.
            fsync(partial)
    return script
