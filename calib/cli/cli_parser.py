"""What the command line says where a command is not understood."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """A parser that says in one line what is wrong and where help is; the whole usage would bury it."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the command and exit with 2."""
        print(f"error: {message.rstrip('.')}; see {self.prog} --help.", file=sys.stderr)
        raise SystemExit(2)
