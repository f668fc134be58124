"""Guards bite: every trigger, check, key and reference of the schema has a probe that notices when it is gone."""
