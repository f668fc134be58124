"""Workers: processes that run background tasks, called duties."""
