"""Markets in the lab: who plays in them, how a run is made and measured."""
