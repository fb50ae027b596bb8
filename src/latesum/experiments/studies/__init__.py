"""Studies: lists of settings and a report. The paper's figures, the league, safety, coverage."""
