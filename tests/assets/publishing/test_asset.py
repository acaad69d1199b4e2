"""The asset `published` links the report by an address that a browser can open."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import dagster as dg

from assets.keys import PUBLISHED
from assets.project import Namespace
from assets.publishing.asset import report_link
from tests.assets.conftest import materialise

if TYPE_CHECKING:
    from tests.assets.conftest import Workshop


def test_metadata_has_the_address_of_the_report(published: Workshop) -> None:
    result = materialise(published.project, published.instance)
    (event,) = (
        event.step_materialization_data.materialization
        for event in result.get_asset_materialization_events()
        if event.asset_key == PUBLISHED
    )
    assert event.metadata["report"] == dg.MetadataValue.url("/report/")


def test_a_hosted_report_and_that_of_a_team_have_other_addresses(published: Workshop) -> None:
    project, page = published.project, published.project.publish / "index.html"
    hosted = replace(project, report_url="https://pages.example/report/")
    assert report_link(hosted, page) == "https://pages.example/report/"
    assert report_link(replace(project, namespace=Namespace(is_shared=True)), page) == page.as_uri()
