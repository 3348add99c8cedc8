"""Storage by role: what training reads and writes, where it is kept, and why there."""
