"""``python -m vindibot``."""

from vindibot.cli import main

if __name__ == "__main__":
    main()
