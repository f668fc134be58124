"""Workers: processes that do what has to be done without a person asking. The duties are one list."""
