"""One file for every version of the tables; none is ever changed."""
