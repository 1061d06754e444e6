"""A program of scripts/ as a module, for tests of what is in it."""
import importlib.machinery
import importlib.util
import sys
from pathlib import Path


def load(root: Path, program: str):
    name = program.replace("-", "_")
    loader = importlib.machinery.SourceFileLoader(name, str(root / "scripts" / program))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    sys.modules[name] = module  # dataclasses look their module up
    loader.exec_module(module)
    return module
