"""The tables that are measured, by the names of this version and of 0.1, which is measured as well."""

from __future__ import annotations

import reissue as ri

OLD = ri.__version__.startswith("0.1")

if OLD:
    from reissue.studies.census import GENDERS, OLDEST, YOUNGEST, census, census_hierarchies
    from reissue.studies.streams import growth, updates
else:
    from reissue.samples.census import GENDERS, OLDEST, YOUNGEST, census, census_hierarchies
    from reissue.samples.streams import growth, updates

__all__ = ["GENDERS", "OLD", "OLDEST", "YOUNGEST", "census", "census_hierarchies", "growth", "updates"]
