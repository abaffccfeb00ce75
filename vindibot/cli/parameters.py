"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path

import click

PATH = click.Path(path_type=Path)
#: Words for the directions 0..4 on the command line.
WORDS = ("stay", "north", "south", "east", "west")
TURN = "the wire's number of one of the hero's turns (four to a round)"

TRAITS = click.Option(["--trait", "traits"], multiple=True, metavar="LABEL", help="ask this trait only; repeatable")
NODES = click.Option(
    ["--nodes"],
    type=click.IntRange(min=1),
    metavar="N",
    help="give searches a budget of N nodes, which is the same anywhere  [default: 0.9 s]",
)
