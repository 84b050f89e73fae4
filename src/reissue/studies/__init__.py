"""Data for studies: generated tables, the papers' update protocols, and tables from elsewhere.

- `census`: census-like tables of any size, with the domains of He et al. 2011, and their hierarchies.
- `hospital`: the little hospital of the demo, month by month.
- `streams`: how a table changes from release to release.
- `datasets`: everything that can be loaded by name or by path.
"""
