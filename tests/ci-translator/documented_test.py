#!/usr/bin/env python3
"""The translator's messages and their table in docs/errors.md, "Translating": each message of the golden errors is found by the words
of a row, and no row is about a message that none of them shows. Usage: documented_test.py ROOT"""
import re
import sys
from pathlib import Path

MESSAGE = re.compile(r"^\S+:\d+:\d+: (?:error|warning): (.*)$", re.M)


def phrases(page: str) -> list[str]:
    """What stands between backticks in the first column of the table."""
    section = page.split("## Translating", 1)[1].split("\n## ", 1)[0]
    rows = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `")]
    return [phrase for row in rows for phrase in re.findall(r"`([^`]+)`", row)]


def pattern(phrase: str) -> re.Pattern[str]:
    """`...` stands for names, numbers and what else is said."""
    return re.compile("^" + ".*".join(re.escape(part) for part in phrase.split("...")))


def main() -> int:
    root = Path(sys.argv[1])
    known = {phrase: pattern(phrase) for phrase in phrases((root / "docs/errors.md").read_text(encoding="utf-8"))}
    messages = {message for file in sorted((root / "tests/ci-translator/errors").glob("*.messages"))
                for message in MESSAGE.findall(file.read_text(encoding="utf-8"))}
    problems = [f"docs/errors.md has no row for: {message}" for message in sorted(messages)
                if not any(p.match(message) for p in known.values())]
    problems += [f"docs/errors.md: no error in tests/ci-translator/errors begins with: {phrase}"
                 for phrase, p in known.items() if not any(p.match(message) for message in messages)]
    print("\n".join(problems + [f"{len(messages)} messages, {len(known)} phrases, {len(problems)} problems"]))
    return 1 if problems or not messages or not known else 0


if __name__ == "__main__":
    sys.exit(main())
