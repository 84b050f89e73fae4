"""`reissue warm-up`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from reissue.cli.output import AsJson, print_json, say, steps


def warm_up(
    method: Annotated[
        list[str] | None, typer.Option("--method", metavar="NAME", help="Only what this method needs.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compile all kernels ahead, so that nobody waits for them later.

    Kernels are compiled when they are first needed, once for an installation. This does it at once, by publishing small
    series in every way there is, and takes two minutes of a processor or more. What is compiled is kept in the
    installation where that can be written, else in a folder of yours; REISSUE_KERNELS names another one.

    Examples:

      reissue warm-up

      reissue warm-up --method Mondrian --method MInvariance
    """
    from reissue.kernels.announcing import told
    from reissue.kernels.compiling import COMPILATION
    from reissue.kernels.keeping import places, size
    from reissue.publishing.warming import warm_up as run

    def quietly(text: str | None) -> None:
        """What is compiled is all that is done here: one line for each small series says enough."""

    with told(quietly), steps("Warming up") as progress:

        def begin(what: str, done: int, total: int) -> None:
            progress(done, total)
            if not sys.stderr.isatty():
                sys.stderr.write(f"reissue: {what} ({done + 1} of {total})\n")

        run(method or (), begin)
    compiled, folder, bytes_kept = COMPILATION.count.total(), places().write, size()
    if as_json:
        kept = str(folder) if folder else None
        print_json({"compiled": compiled, "folder": kept, "bytes": bytes_kept})
        return
    say(f"compiled {compiled:,} kernels" if compiled else "all kernels were compiled before")
    say(f"kept {bytes_kept / 1e6:,.1f} MB in {folder}" if folder else "nothing can be kept: no folder can be written")
