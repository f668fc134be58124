"""Data contracts: declared in the policy, executed by DuckDB on the files of a run, as a validator or by hand."""

from recoup.partitions.contracts.checking import Circumstances, check, check_file, validator
from recoup.partitions.contracts.declaration import CONTRACT_VERSION, Contract, declared, digest
from recoup.partitions.contracts.engine import Limits

__all__ = [
    "CONTRACT_VERSION", "Circumstances", "Contract", "Limits", "check", "check_file", "declared", "digest", "validator",
]  # fmt: skip
