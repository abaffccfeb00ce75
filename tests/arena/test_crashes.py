"""The reason of a crash, from real output of runtimes when a program ends, with output of the bot before it."""

from __future__ import annotations

import pytest

from tests.support.crash_output import JAVA
from vindibot.arena.seats.crashes import REASON_LENGTH, reason

JAVA_THREADS = """\
Exception in thread "Thread-0" java.lang.IllegalStateException: no mines left
\tat Boom.f(Boom.java:2)
\tat java.base/java.lang.Thread.run(Thread.java:840)
Caused by: java.lang.RuntimeException: inner cause
\t... 5 more
Exception in thread "main" java.lang.RuntimeException: worker is gone
\tat Boom.main(Boom.java:7)
"""
JAVA_CAUGHT = """\
java.lang.IllegalStateException: no mines left
\tat Boom.f(Boom.java:2)
\tat Boom.main(Boom.java:6)
giving up
"""
JAVA_SOURCE = """\
X.java:1: error: incompatible types: String cannot be converted to int
class X { int x = "a"; public static void main(String[] a){} }
                  ^
1 error
error: compilation failed
"""
DOTNET = """\
Unhandled exception. System.InvalidOperationException: no mines left
 ---> System.Exception: inner cause
   --- End of inner exception stack trace ---
   at Bot.Program.Move() in /src/Program.cs:line 12
   at Bot.Program.Main(String[] args) in /src/Program.cs:line 5
"""
NODE = """\
/bots/boom.js:4
  throw new TypeError("no mines left");
  ^

TypeError: no mines left
    at Object.<anonymous> (/bots/boom.js:4:28)
    at Module._compile (node:internal/modules/cjs/loader:1521:14)
    at node:internal/main/run_main_module:28:49 {
  code: 'E_MINE',
  [cause]: Error: inner
      at Object.<anonymous> (/bots/boom.js:4:66)
}

Node.js v20.20.2
"""
NODE_TEXT = """\
/bots/boom.js:5
throw "just a string";
^
just a string
(Use `node --trace-uncaught ...` to show where the exception was thrown)

Node.js v20.20.2
"""
RUST = """\

thread 'main' (10214) panicked at src/main.rs:3:32:
no mines left
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
"""
RUST_THREADS = """\

thread '<unnamed>' (10218) panicked at src/main.rs:4:38:
first cause
stack backtrace:
   0: std::panicking::begin_panic::<&str>
             at /rustc/59807616e1fa/library/std/src/panicking.rs:761:5
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.

thread 'main' (10217) panicked at src/main.rs:4:68:
called `Result::unwrap()` on an `Err` value: Any { .. }
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.
"""
GO = """\
panic: runtime error: index out of range [5] with length 0

goroutine 1 [running]:
main.(*Bot).move(0xc000012345, {0x0, 0x0})
\t/bots/main.go:12 +0x1d
main.main()
\t/bots/main.go:5 +0x18
exit status 2
"""
CPP = """\
terminate called after throwing an instance of 'std::runtime_error'
  what():  no mines left
"""
RUBY = """\
bot.rb:3:in `move': no mines left (RuntimeError)
\tfrom bot.rb:7:in `<main>'
"""
PYTHON = """\
Traceback (most recent call last):
  File "bot.py", line 7, in <module>
    f()
  File "bot.py", line 4, in f
    raise GameOver("no mines left")
bot.GameOver: no mines left
"""
PYTHON_CHAIN = f"""\
{PYTHON}
The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "bot.py", line 8, in <module>
    raise RuntimeError("outer") from e
RuntimeError: outer
"""
PYTHON_GROUP = """\
  + Exception Group Traceback (most recent call last):
  |   File "bot.py", line 15, in <module>
  |     raise ExceptionGroup("several", [ValueError("a"), TypeError("b")])
  | ExceptionGroup: several (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | ValueError: a
    +---------------- 2 ----------------
    | TypeError: b
    +------------------------------------
"""

RAN = [
    (JAVA, 'Exception in thread "main" java.lang.IllegalStateException: no mines left'),
    (JAVA_THREADS, 'Exception in thread "Thread-0" java.lang.IllegalStateException: no mines left'),
    (JAVA_CAUGHT, "java.lang.IllegalStateException: no mines left"),
    (JAVA_SOURCE, "X.java:1: error: incompatible types: String cannot be converted to int"),
    (DOTNET, "Unhandled exception. System.InvalidOperationException: no mines left"),
    (NODE, "TypeError: no mines left"),
    (NODE_TEXT, "just a string"),
    (RUST, "thread 'main' (10214) panicked at src/main.rs:3:32: no mines left"),
    (RUST_THREADS, "thread '<unnamed>' (10218) panicked at src/main.rs:4:38: first cause"),
    (GO, "panic: runtime error: index out of range [5] with length 0"),
    (CPP, "terminate called after throwing an instance of 'std::runtime_error' what(): no mines left"),
    (RUBY, "bot.rb:3:in `move': no mines left (RuntimeError)"),
    (PYTHON, "bot.GameOver: no mines left"),
    (PYTHON_CHAIN, "RuntimeError: outer"),
    (PYTHON_GROUP, "ExceptionGroup: several (2 sub-exceptions)"),
    ("Error: Unable to access jarfile bot.jar\n", "Error: Unable to access jarfile bot.jar"),
    ("boom: boom.cpp:10: int main(): Assertion `c==7' failed.\n", "boom: boom.cpp:10: int main(): Assertion `c==7' failed."),
    ("double free or corruption (out)\n", "double free or corruption (out)"),
    ("some reason\n", "some reason"),
]


@pytest.mark.parametrize(("output", "expected"), RAN)
def test_the_line_with_the_reason(output: str, expected: str) -> None:
    assert reason(output) == expected
    survived = "".join(f"turn {turn}: estimated error 0.1\n" for turn in range(20))
    assert reason(survived + output) == expected
    assert reason("connection error, trying again\n" + output.replace("\n", "\r\n")) == expected


@pytest.mark.parametrize("survived", [JAVA, PYTHON, NODE, RUST, "Error: lost a turn\n", "TypeError: caught\n"])
def test_an_error_that_the_bot_survived_is_not_the_reason(survived: str) -> None:
    turns = "".join(f"turn {turn}: go north\n" for turn in range(20))
    assert reason(f"{survived}{turns}out of ideas\n") == "out of ideas"
    assert reason(survived + turns + GO) == "panic: runtime error: index out of range [5] with length 0"
    assert reason(survived + turns + PYTHON) == "bot.GameOver: no mines left"


def test_odd_output() -> None:
    assert reason("") == ""
    assert reason("\n \n") == ""
    assert reason("Traceback (most recent call last):\n") == "Traceback (most recent call last):"
    assert reason("panic: " + "x" * 1000) == ("panic: " + "x" * 1000)[:REASON_LENGTH]
    assert reason("thread 'main' panicked at src/main.rs:3:32:\n") == "thread 'main' panicked at src/main.rs:3:32:"
