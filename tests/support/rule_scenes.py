"""The scenes of `vindibot.server.site.rule_scenes` as games of the viewer, for the pictures in docs/rules.md."""

from __future__ import annotations

from vindibot.server.site.rule_scenes import RuleScene
from vindibot.viewer.bundle import Bundle, StateWriter, empty_bundle, result_of


def bundle_of(scene: RuleScene) -> Bundle:
    """Return a scene as the data of a viewer's page."""
    history = scene.history()
    writer = StateWriter(history.first)
    plies = [writer.ply(ply) for ply in history]
    return empty_bundle(history, title=scene.name, source="record") | {"plies": plies} | result_of(history)
