"""Diagnoses in groups: the chapters of ICD-9, with frequent diseases told apart."""

from __future__ import annotations

import numpy as np
import polars as pl

OTHER = "other"
FIRST_CODES = {
    1: "infection", 140: "neoplasm", 240: "metabolism", 250: "diabetes", 251: "metabolism", 280: "blood",
    290: "mental", 320: "nerves and senses", 390: "circulation", 410: "coronary heart disease", 415: "circulation",
    427: "heart rhythm", 428: "heart failure", 429: "circulation", 430: "stroke", 439: "circulation",
    460: "respiration", 480: "pneumonia", 489: "respiration", 490: "chronic lung disease", 497: "respiration",
    520: "digestion", 580: "kidneys and bladder", 630: "pregnancy", 680: "skin", 710: "bones and joints", 740: OTHER,
    780: "symptoms", 786: "chest pain", 787: "symptoms", 800: "injury",
}  # fmt: skip
"""The first code of each range, and what it is called; a range ends where the next begins."""


def grouped(codes: pl.Series) -> pl.Series:
    """The groups of codes of ICD-9, such as 428.0 or 4280; supplementary codes, V and E, are "other"."""
    number = codes.cast(pl.String).str.slice(0, 3).cast(pl.Int64, strict=False).fill_null(0).to_numpy()
    place = np.searchsorted(list(FIRST_CODES), number, side="right")
    return pl.Series([OTHER, *FIRST_CODES.values()]).gather(place)
