"""Adapters: failures of other systems into error tables, and back. Each is a module that you import by name.

``logging_handler``, ``asgi``, ``celery``, ``dbt``, ``airflow``, ``dagster``. They import the other system where they
use it: install what you have anyway, and Recoup next to it.
"""

from recoup.adapters.reporting import entity_of

__all__ = ["entity_of"]
