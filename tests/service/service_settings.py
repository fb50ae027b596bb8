"""A campaign to begin with."""

SETTINGS = {
    "options": ["red", "blue"],
    "policy": "odaaf",
    "parameters": {"horizon": 90_000, "mean_delay": 100},
    "every": "day",
    "start": "2026-02-01",
    "expected_rounds": 1000,
    "time_basis": "arrival",
    "seed": 1,
}
