"""A package, so that processes which tests start find this folder and not an installed one of the same name."""
