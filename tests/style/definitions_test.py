#!/usr/bin/env python3
"""Shows that definitions.py catches what it is for."""
import tempfile
import unittest
from pathlib import Path

import definitions


def body(lines: int, indent: str = "  ") -> str:
    return f"{indent}a();\n" * lines


class Definitions(unittest.TestCase):
    def problems(self, texts: dict[str, str], namesakes: dict[str, int] | None = None) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, text in texts.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return definitions.check(root, list(texts), namesakes or {})[1]

    def test_a_function_of_as_many_lines_as_one_may_have(self):
        self.assertEqual(self.problems({"base/a.cpp": "void a() {\n" + body(58) + "}\n"}), [])
        self.assertEqual(len(self.problems({"base/a.cpp": "void a() {\n" + body(59) + "}\n"})), 1)

    def test_what_opens_a_function_on_more_lines_than_one(self):
        for opened in ("A::A(int b)\n    : b_(b), c_{b} {\n", "int a(int b,\n      int c) {\n", "template <class T>\nint a(T t) {\n",
                       "double a(int b) {\n"):
            self.assertEqual(len(self.problems({"base/a.cpp": opened + body(60) + "}\n"})), 1, opened)
        self.assertEqual(len(self.problems({"base/a.h": "class A {\n public:\n  void a() {\n" + body(60, "    ") + "  }\n};\n"})), 1)

    def test_what_is_no_function(self):
        for opened in ("class A : public B<int(int)> {\n", "namespace a {\n", "const A a = {\n"):
            self.assertEqual(self.problems({"base/a.cpp": opened + "int b();\n" * 70 + "}\n"}), [], opened)
        self.assertEqual(self.problems({"tests/a.cpp": "void a() {\n" + body(80) + "}\n"}), [])

    def test_a_name_of_too_many_types(self):
        four = {"base/a.h": "struct State {\n};\n", "machine/b.h": "class B {\n  enum class State : char { on };\n};\n",
                "runtime/c.cpp": "template <class T>\nclass State final : public C {\n};\n", "lang/d.h": "struct D::State { int a; };\n"}
        self.assertEqual(len(self.problems(four)), 1)
        self.assertEqual(self.problems(four, {"State": 4}), [])
        self.assertEqual(self.problems(dict(list(four.items())[:3])), [])

    def test_what_defines_no_type(self):
        named = "class State;\nusing A = State;\nfriend struct State;\nenum State a();\nstruct State* b();\n"
        self.assertEqual(self.problems({f"base/{name}.h": named for name in "abcde"}), [])


if __name__ == "__main__":
    unittest.main()
