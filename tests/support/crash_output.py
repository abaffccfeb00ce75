"""Examples of the output of programs that crash."""

from __future__ import annotations

JAVA = """\
Exception in thread "main" java.lang.IllegalStateException: no mines left
\tat Boom.f(Boom.java:2)
\tat Boom.main(Boom.java:4)
Caused by: java.lang.RuntimeException: inner cause
\t... 14 more
"""
