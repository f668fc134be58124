"""The console: pages for people, under ``/``, served by ``recoup api`` and ``recoup up``.

What one can rely on:

- A page reads through the functions that commands and routes read through, in one transaction under the caller's own
  authority and hub. A button is a declared route of the API: same checks, same preview, same refusal, same log.
- Without scripts everything works but live updates and plots. No page has a script or a style of its own in it, and
  nothing comes from another host.
- A reader has a session: opened with a key, or without keys by a link that works once, printed where the service
  was started. Writes need the token of the session's pages.

Modules: ``declare`` (how a page is declared), ``site`` (all of it as an application), ``sessions``, ``acting``
(buttons), ``forms`` (their fields), ``rendering``, ``drawing`` (plots without scripts), ``live``, ``files``, and
``pages/`` by subject.
"""
