"""How stores of earlier versions become stores of this one."""
