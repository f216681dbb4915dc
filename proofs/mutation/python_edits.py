"""Edits of Python files, over their syntax tree.

Left out: annotations, docstrings, texts of errors, names that are exported, and what is for a type
checker alone.
"""

import ast

from mutation.mutant import Edit

COMPARISONS = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
ARITHMETIC = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.FloorDiv: ("//", "*"),
    ast.Div: ("/", "*"),
    ast.Mod: ("%", "//"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
SWAPPED = {"min": "max", "max": "min", "any": "all", "all": "any"}


class Finder(ast.NodeVisitor):
    """Collects the edits of one file."""

    def __init__(self, text):
        self.text, self.edits, self.scope = text, [], []
        self.lines = [0]
        for line in text.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.rows = text.splitlines()

    def at(self, row, column):
        """Place in the text of a row and a column in bytes, as the tree has them."""
        return self.lines[row - 1] + len(self.rows[row - 1].encode()[:column].decode())

    def start(self, node):
        return self.at(node.lineno, node.col_offset)

    def end(self, node):
        return self.at(node.end_lineno, node.end_col_offset)

    def add(self, operator, start, end, new):
        self.edits.append(Edit(".".join(self.scope), operator, start, end, new))

    def between(self, operator, left, right, words):
        """An edit of the operator that stands between two nodes; brackets may stand there, too."""
        old, new = words
        found = self.text.find(old, self.end(left), self.start(right))
        if found >= 0:
            self.add(operator, found, found + len(old), new)

    def replace(self, operator, node, new):
        self.add(operator, self.start(node), self.end(node), new)

    def inside(self, name, nodes):
        self.scope.append(name)
        for node in nodes:
            self.visit(node)
        self.scope.pop()

    def visit_FunctionDef(self, node):
        body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
        self.inside(
            node.name, [*node.args.defaults, *(one for one in node.args.kw_defaults if one), *body]
        )

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node):
        body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
        self.inside(
            node.name,
            [one for one in body if not (isinstance(one, ast.AnnAssign) and one.value is None)],
        )

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)

    def visit_Assign(self, node):
        if not any(
            isinstance(target, ast.Name) and target.id.startswith("__") for target in node.targets
        ):
            if isinstance(node.targets[0], ast.Attribute | ast.Subscript) and self.scope:
                self.replace("assignment dropped", node, "pass")
            self.generic_visit(node)

    def visit_AugAssign(self, node):
        self.replace("statement dropped", node, "pass")
        self.generic_visit(node)

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Constant):
            return
        if isinstance(node.value, ast.Call) and self.scope:
            self.replace("statement dropped", node, "pass")
        self.generic_visit(node)

    def visit_Raise(self, node):
        self.replace("raise dropped", node, "pass")

    def visit_JoinedStr(self, node):
        """Its parts have no places of their own before Python 3.12."""

    def visit_Assert(self, node):
        """For a type checker."""

    def visit_Return(self, node):
        if node.value is None:
            return
        if not (isinstance(node.value, ast.Constant) and node.value.value is None):
            self.replace("return None", node.value, "None")
        self.visit(node.value)

    def conditional(self, node):
        self.replace("condition true", node.test, "True")
        self.replace("condition false", node.test, "False")
        self.generic_visit(node)

    visit_IfExp = conditional

    def visit_If(self, node):
        if "TYPE_CHECKING" not in ast.dump(node.test):
            self.conditional(node)

    def visit_comprehension(self, node):
        for test in node.ifs:
            self.replace("filter dropped", test, "True")
        self.generic_visit(node)

    def visit_Compare(self, node):
        for left, operator, right in zip(
            [node.left, *node.comparators], node.ops, node.comparators, strict=False
        ):
            words = COMPARISONS[type(operator)]
            self.between(f"{words[0]} to {words[1]}", left, right, words)
        self.generic_visit(node)

    def visit_BinOp(self, node):
        if type(node.op) in ARITHMETIC and not isinstance(node.left, ast.JoinedStr):
            words = ARITHMETIC[type(node.op)]
            self.between(f"{words[0]} to {words[1]}", node.left, node.right, words)
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.between(f"{words[0]} to {words[1]}", left, right, words)
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        if isinstance(node.op, ast.Not):
            self.add("not removed", self.start(node), self.start(node.operand), "")
        self.generic_visit(node)

    def visit_Constant(self, node):
        if isinstance(node.value, bool):
            self.replace("constant turned", node, str(not node.value))
        elif isinstance(node.value, int):
            self.replace("constant + 1", node, str(node.value + 1))

    def visit_Call(self, node):
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if isinstance(node.func, ast.Name) and name in SWAPPED:
            self.replace(f"{name} to {SWAPPED[name]}", node.func, SWAPPED[name])
        if name in ("sorted", "sort") and not any(one.arg == "reverse" for one in node.keywords):
            given = (*node.args, *node.keywords)
            is_bare = len(given) == 1 and isinstance(given[0], ast.GeneratorExp)
            comma = (
                ", "
                if given and self.text[self.end(given[-1]) : self.end(node)].strip() == ")"
                else ""
            )
            if not is_bare:
                self.add(
                    "sort reversed", self.end(node) - 1, self.end(node) - 1, f"{comma}reverse=True"
                )
        self.generic_visit(node)

    def visit_Slice(self, node):
        for bound in (node.lower, node.upper):
            if bound is not None and not isinstance(bound, ast.Constant):
                self.add("slice bound + 1", self.end(bound), self.end(bound), " + 1")
        self.generic_visit(node)


def edits_of(text):
    """All edits of a file; a few leave no program, which `compiles` tells."""
    finder = Finder(text)
    finder.visit(ast.parse(text))
    return finder.edits


def compiles(text):
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
