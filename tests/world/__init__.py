"""The local world with every trick added (odd, tricks, watched), asked from outside: each kind does what it says."""
