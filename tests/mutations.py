"""
How strong the tests are: small changes of the library, one at a time, and who notices.

``python tests/mutations.py`` makes 200 changes, spread over the packages by their size, runs for
each the tests that execute the changed line, and lists the survivors: changes that no test noticed.
``--seed`` draws others, ``--package runtime --package "session*"`` draws from these parts only,
``--count 0`` tries every change there is, ``--report FILE`` also writes a file, and
``--fail-above 20`` ends with 1 if more than 20 % survived. A test that fails without any change
ends all with 2; ``--leave-out TEST`` goes on without it. ``--include gui`` and ``--include real``
add these slow tests, and the former also its package. The first run notes which test executes which
line, which takes minutes, and is kept until a source or a test changes. Changes are made in copies
of the tree, whose processes see no others where the system allows it. A change that nobody can
notice is marked ``# pragma: no mutate``, in its line or in the one that begins its block.
"""

from __future__ import annotations

import argparse
import ast
import atexit
import contextlib
import fnmatch
import functools
import gc
import hashlib
import io
import itertools
import json
import os
import queue
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import tokenize
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path.home() / ".cache" / "claude-sync" / "mutations"
IGNORED = {".git", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"}
SLOW = ("real", "gui")  # folders of tests that run only if asked for
TEST_LIMIT, MUTANT_LIMIT = 10, 75  # seconds, if nobody else works on the machine
NEAR_SECONDS = 12.0  # as long as the tests of a module, or of its package, may take together
PYTEST = ("-n", "0", "-p", "no:cacheprovider", "-q")

# ------------------------------------------------------------------------------ what to change

PAIRS = (("==", "!="), ("<", "<="), (">", ">="), ("is", "is not"), ("in", "not in"))
COMPARISONS = {**dict(PAIRS), **{new: old for old, new in PAIRS}}
TYPES = re.compile(r"(Literal|Union|Optional|Callable|Dict|List|Tuple|Set|Type|Mapping|\w*Var)")
NO_MUTATE = re.compile(r"#\s*pragma: no mutate")
GENERATED = re.compile(r"generated (by|from)|do not edit", re.IGNORECASE)


def slowness():
    """How much longer everything takes because others work as well."""
    return min(4.0, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))


def package_of(file):
    """The part of the library: a package, or ``top`` for the modules above them."""
    parts = Path(file).parts
    return parts[1] if len(parts) > 2 else "top"


def name_of(node):
    """The last name of what is called or subscripted."""
    return getattr(node, "attr", getattr(node, "id", ""))


def is_logging(node):
    """Whether *node* is a call of a logger."""
    owner = getattr(getattr(node, "func", None), "value", None)
    return name_of(owner) in ("logger", "logging")


@dataclass(frozen=True)
class Mutant:
    """A change: the bytes from *start* to *end* of a file become *new*."""

    file: str
    line: int
    start: int
    end: int
    old: str
    new: str
    row: str  # the line as it was
    lines: range  # of the statement, or of the part before its block
    at_import: bool

    def applied(self, source):
        """The changed source; the lines after the change keep their numbers."""
        return source[: self.start] + self.new.encode() + source[self.end :]

    @property
    def word(self):
        """What its tests might mention: a key, or a name of the module."""
        found = re.match(r"[\"'](\w+)", self.old) or (self.at_import and re.match(r"\w+", self.row))
        return found.group(found.lastindex or 0) if found else ""

    def __str__(self):
        old, new = " ".join(self.old.split()), " ".join(self.new.split()) or "(removed)"
        short = old if len(old) < 70 else old[:66] + " ..."
        where = "" if self.row.startswith(old) or len(old) > 70 else f"  in: {self.row}"
        return f"{self.file}:{self.line}  {short} -> {new}{where}"


class Finder(ast.NodeVisitor):
    """Everything that can be changed in one file; types, logging and texts are left alone."""

    def __init__(self, file, source):
        """Find the changes of *source*, which is bytes."""
        self.file, self.source, self.found = file, source, []
        self.rows = source.decode().splitlines(keepends=True)
        self.starts = [0, *itertools.accumulate(len(row.encode()) for row in self.rows)]
        self.kept = {number for number, row in enumerate(self.rows, 1) if NO_MUTATE.search(row)}
        self.tokens = [
            (self.offset(*token.start), self.offset(*token.end), token.string)
            for token in tokenize.generate_tokens(io.StringIO("".join(self.rows)).readline)
            if token.type in (tokenize.OP, tokenize.NAME)
        ]
        # Where it is: in which statement, in how many functions, and what has been assigned there.
        self.statement, self.depth, self.names = None, 0, set()
        if not GENERATED.search("".join(self.rows[:5])):
            self.visit(ast.parse(source))

    def offset(self, row, column):
        """Where a token is, in bytes."""
        return self.starts[row - 1] + len(self.rows[row - 1][:column].encode())

    def place(self, node):
        """The first byte of *node*, and the one after its last."""
        start = self.starts[node.lineno - 1] + node.col_offset
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset

    def between(self, left, right):
        """The tokens between two operands, without brackets."""
        start, end = self.place(left)[1], self.place(right)[0]
        return [each for each in self.tokens if start <= each[0] < end and each[2] not in "()"]

    def add(self, start, end, new):
        """Note a change; what takes fewer lines than before is followed by empty ones."""
        old = self.source[start:end].decode()
        new += "\n" * (old.count("\n") - new.count("\n"))
        line = self.source.count(b"\n", 0, start) + 1
        first, body = self.statement.lineno, getattr(self.statement, "body", None)
        last = max(first, body[0].lineno - 1) if body else self.statement.end_lineno
        row, lines = self.rows[line - 1].strip(), range(first, last + 1)
        change = Mutant(self.file, line, start, end, old, new, row, lines, not self.depth)
        self.found.append(change)

    def replace(self, node, new):
        """Note that all of *node* becomes *new*."""
        self.add(*self.place(node), new)

    def negate(self, test):
        """A condition; not ``==``, ``not`` or a constant, which have the same change already."""
        already = isinstance(test, ast.Constant) or isinstance(getattr(test, "op", None), ast.Not)
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            already = not isinstance(test.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE))
        if not already:
            start, end = self.place(test)
            self.add(start, end, f"not ({self.source[start:end].decode()})")

    def empty(self, node):
        """A string that is compared, or a key."""
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, (str, bytes)) and value and node.lineno == node.end_lineno:
            self.replace(node, '""' if isinstance(value, str) else 'b""')

    def visit(self, node):
        """Visit *node*, unless it is marked."""
        if not isinstance(node, (ast.stmt, ast.ExceptHandler)):
            super().visit(node)
        elif node.lineno not in self.kept:
            before, self.statement = self.statement, node
            super().visit(node)
            self.statement = before

    def visit_all(self, *nodes):
        """Visit those of *nodes* that are there."""
        for node in nodes:
            if node is not None:
                self.visit(node)

    def visit_function(self, node, body):
        """Its defaults belong to the code around it, its types to nobody."""
        self.visit_all(*node.args.defaults, *node.args.kw_defaults)
        names, self.names = self.names, {each.arg for each in node.args.args}
        self.depth += 1
        self.visit_all(*body)
        self.depth -= 1
        self.names = names

    def visit_FunctionDef(self, node):
        if node.name != "__repr__" and "overload" not in map(name_of, node.decorator_list):
            self.visit_all(*node.decorator_list)
            self.visit_function(node, node.body)

    def visit_Lambda(self, node):
        self.visit_function(node, [node.body])

    def visit_ClassDef(self, node):
        self.visit_all(*node.decorator_list, *node.body)

    def visit_JoinedStr(self, node):
        """A text; what is in it has no reliable place before Python 3.12."""

    def visit_Subscript(self, node):
        if not TYPES.fullmatch(name_of(node.value)):
            self.empty(node.slice)
            self.generic_visit(node)

    def visit_Call(self, node):
        name = name_of(node.func)
        if is_logging(node) or TYPES.fullmatch(name):
            return
        if name in ("get", "pop", "setdefault") and node.args:
            self.empty(node.args[0])
        self.visit_all(node.func, *node.args[name == "cast" :])
        self.visit_all(*(each.value for each in node.keywords if each.arg != "stacklevel"))

    def visit_If(self, node):
        test = ast.unparse(node.test)
        if "TYPE_CHECKING" in test or "__name__" in test:
            self.visit_all(*node.orelse)
        else:
            self.visit_While(node)

    def visit_While(self, node):
        self.negate(node.test)
        self.generic_visit(node)

    visit_IfExp = visit_While  # noqa: N815

    def visit_comprehension(self, node):
        for test in node.ifs:
            self.negate(test)
        self.generic_visit(node)

    def visit_Compare(self, node):
        operands = [node.left, *node.comparators]
        for left, right in itertools.pairwise(operands):
            words = self.between(left, right)
            self.add(words[0][0], words[-1][1], COMPARISONS[" ".join(each[2] for each in words)])
        for operand in operands:
            for each in getattr(operand, "elts", [operand]):
                self.empty(each)
        self.generic_visit(node)

    def visit_MatchValue(self, node):
        self.empty(node.value)
        self.generic_visit(node)

    def visit_Dict(self, node):
        for key in node.keys:
            self.empty(key)
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        for left, right in itertools.pairwise(node.values):
            ((start, end, word),) = self.between(left, right)
            self.add(start, end, "or" if word == "and" else "and")
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        if isinstance(node.op, ast.Not):
            start = self.place(node)[0]
            self.add(start, start + len(re.match(rb"not\s*", self.source[start:])[0]), "")
        self.generic_visit(node)

    def visit_Constant(self, node):
        value, old = node.value, self.source[slice(*self.place(node))]
        if isinstance(value, bool):
            self.replace(node, str(not value))
        elif isinstance(value, int):
            self.replace(node, oct(value ^ 0o4) if old.startswith(b"0o") else str(value + 1))
        elif isinstance(value, float):
            self.replace(node, str(value * 2 or 1.0))

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Call) and not is_logging(node.value):
            self.replace(node, "pass")
        self.visit(node.value)

    def visit_Assign(self, node):
        """Drop it, unless the name would be unknown without it."""
        targets = getattr(node, "targets", None) or [node.target]
        within = [each for target in targets for each in ast.walk(target)]
        names = {
            each.id
            for each in within
            if isinstance(getattr(each, "ctx", 0), ast.Store) and isinstance(each, ast.Name)
        }
        if node.value is None or names & {"__all__", "__slots__"}:
            return
        if self.depth and names <= self.names:
            self.replace(node, "pass")
        self.names |= names
        self.visit_all(*targets, node.value)

    visit_AugAssign = visit_AnnAssign = visit_Assign  # noqa: N815

    def visit_Nonlocal(self, node):
        self.names |= set(node.names)

    visit_Global = visit_Nonlocal  # noqa: N815

    def visit_Raise(self, node):
        self.replace(node, "pass")

    def visit_Return(self, node):
        # To most callers, False is the same.
        if node.value is not None and ast.unparse(node.value) not in ("None", "False"):
            self.replace(node, "return None")
        self.visit_all(node.value)


def code_lines(source):
    """How many lines of *source* have code, without documentation."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt | ast.expr)]
    texts = [each for each in nodes if isinstance(getattr(each, "value", None), ast.Constant)]
    texts = {each.lineno for each in texts if isinstance(each, ast.Expr)}
    return len({node.lineno for node in nodes} - texts)


def is_valid(mutant, source):
    """Whether the changed source can be compiled."""
    try:
        compile(mutant.applied(source), mutant.file, "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


def sampled(sources, count, seed):
    """Changes of *sources* (file: bytes) by lot: packages by their lines, then a line, then one."""
    found, sizes = defaultdict(lambda: defaultdict(list)), Counter()
    for file, source in sorted(sources.items()):
        for mutant in Finder(file, source).found:
            found[package_of(file)][file, mutant.line].append(mutant)
        sizes[package_of(file)] += code_lines(source)
    chosen, share = [], 0.0
    for package, places in sorted(found.items()):
        lot, order = random.Random(f"{seed} {package}"), sorted(places)
        lot.shuffle(order)
        drawn = ([lot.choice(places[place])] if count else places[place] for place in order)
        every = itertools.chain.from_iterable(drawn)
        valid = (mutant for mutant in every if is_valid(mutant, sources[mutant.file]))
        # Sums are rounded, not shares, so that the last sum is right.
        before, share = share, share + sizes[package] / sum(sizes[name] for name in found)
        wanted = round(share * count) - round(before * count) if count else None
        chosen += itertools.islice(valid, wanted)
    return sorted(chosen, key=lambda mutant: (mutant.file, mutant.line))


# ----------------------------------------------------------------------- which tests run a line

# For processes that tests start: they note the lines of the library's functions that they run, at
# once, because many of them are killed.
TRACER = r"""
import os, sys, threading

def attach(notes, test, seen=set()):
    library = os.path.dirname(os.path.abspath(__file__)) + "/claude_sync/"
    def on_line(frame, event, _):
        place = frame.f_code.co_filename, frame.f_lineno
        if event == "line" and place not in seen:
            seen.add(place)
            with open("%s/child-%d" % (notes, os.getpid()), "a", encoding="utf-8") as file:
                file.write("%s\t%s\t%s\n" % (*place, test))
        return on_line
    def on_call(frame, event, _):
        if frame.f_code.co_flags & 1 and frame.f_code.co_filename.startswith(library):
            return on_line
    threading.settrace(on_call)
    sys.settrace(on_call)

if "MUTATION_TEST" in os.environ and "MUTATION_NOTES" in os.environ:
    attach(os.environ["MUTATION_NOTES"], os.environ["MUTATION_TEST"])
"""
MEASURED, OUTCOMES = [], {}


def pytest_configure(config):
    """Measure what each test executes: this module is a plugin of the run that does so."""
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        import coverage

        os.environ["COVERAGE_CORE"] = "ctrace"  # others have no contexts
        notes, source = Path(os.environ["MUTATION_NOTES"], "lines"), str(ROOT / "claude_sync")
        MEASURED.append(
            coverage.Coverage(notes, data_suffix=True, config_file=False, source=[source])
        )
        MEASURED[0].start()


def pytest_runtest_logstart(nodeid):
    """What is executed from now on is executed by this test."""
    os.environ["MUTATION_TEST"] = nodeid
    for each in MEASURED:
        each.switch_context(nodeid)


def pytest_runtest_logreport(report):
    """Note how long each test took, or would have if nobody else worked, and how it ended."""
    seconds, outcome = OUTCOMES.get(report.nodeid, (0.0, "passed"))
    outcome = report.outcome if outcome == "passed" else outcome
    OUTCOMES[report.nodeid] = seconds + report.duration / slowness(), outcome


def pytest_unconfigure(config):
    """Write it all down."""
    for each in MEASURED:
        each.stop()
        each.save()
    if not hasattr(config, "workerinput"):
        Path(os.environ["MUTATION_NOTES"], "outcomes.json").write_text(json.dumps(OUTCOMES))


def build_map(folder, included, workers):
    """Run the tests once, and write to *folder* which of them execute which line."""
    import coverage

    with tempfile.TemporaryDirectory(prefix="mut") as temporary:
        root, environment = copy_of_tree(Path(temporary))
        tracer, stand_in = root / "sitecustomize.py", root / "claude_sync/testing/program.py"
        tracer.write_text(TRACER)
        # The stand-in's Python is told to take no notice of such files.
        attach = f"import sys; exec(open({str(tracer)!r}).read(), {{'__file__': {str(tracer)!r}}})"
        stand_in.write_text(stand_in.read_text().replace("import sys\n", f"{attach}\n", 1))
        notes = Path(temporary, "notes")
        notes.mkdir()
        words = [f"--ignore=tests/{name}" for name in SLOW if name not in included]
        words += ["-p", "tests.mutations", "-p", "no:cacheprovider", "-q", "-n", str(workers)]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *words],
            cwd=root,
            env={**environment, "MUTATION_NOTES": str(notes)},
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            check=False,
        )
        outcomes = (notes / "outcomes.json").read_text()
        if done.returncode not in (0, 1) or not json.loads(outcomes):
            raise RuntimeError(f"pytest ended with {done.returncode}")
        data = coverage.CoverageData(str(folder / "lines"))
        for file in notes.glob("lines.*"):
            measured = coverage.CoverageData(str(file))
            measured.read()
            data.update(measured)
        executed = defaultdict(lambda: defaultdict(set))
        for file in notes.glob("child-*"):
            for row in file.read_text(encoding="utf-8").splitlines():
                place, line, test = row.split("\t", 2)
                executed[test][place].add(int(line))
        for test, places in executed.items():
            data.set_context(test)
            data.add_lines(places)
        data.close()
        (folder / "outcomes.json").write_text(outcomes)


class Map:
    """Which test executes which line, how long it takes, and how it ended."""

    def __init__(self, included=(), workers=2):
        """Take it from the cache, or build it."""
        digest = hashlib.sha256(f"2 {sys.version} {sorted(included)}".encode())
        for path in sorted(ROOT.rglob("*")):
            name = path.relative_to(ROOT).as_posix()
            if path.is_file() and not IGNORED & set(path.parts) and "mutations.py" not in name:
                digest.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
        folder = CACHE / digest.hexdigest()[:16]
        if not folder.exists():
            CACHE.mkdir(parents=True, exist_ok=True)
            for old in sorted(CACHE.iterdir(), key=os.path.getmtime)[:-3]:
                shutil.rmtree(old)
            partial = Path(tempfile.mkdtemp(dir=CACHE))
            build_map(partial, included, workers)
            partial.rename(folder)
        self.outcomes = json.loads((folder / "outcomes.json").read_text())
        self.database = sqlite3.connect(folder / "lines")

    def tests_of(self, file, lines=None):
        """The tests that execute something of *file*, or one of these lines of it."""
        from coverage.numbits import num_in_numbits

        rows = self.database.execute(
            "select context, numbits from line_bits join file on file.id = file_id"
            " join context on context.id = context_id where context != '' and path like ?",
            (f"%/tree/{file}",),
        )
        return {
            test
            for test, bits in rows
            if lines is None or any(num_in_numbits(line, bits) for line in lines)
        }

    def matching(self, mutant, sources):
        """The tests that could notice."""
        if not mutant.at_import:
            found = self.tests_of(mutant.file, [mutant.line])
            return found or self.tests_of(mutant.file, mutant.lines)
        # What is executed once for all tests: those that use the module, or one that imports it.
        found, stem = self.tests_of(mutant.file), re.escape(Path(mutant.file).stem)
        imports = re.compile(rf"^\s*(from|import) .*\b{stem}\b".encode(), re.MULTILINE)
        for file in () if found else [file for file in sources if imports.search(sources[file])]:
            found |= self.tests_of(file)
        return found

    def chosen(self, mutant, sources, cap, without):
        """
        How many tests could notice, and three lists of them.

        First those named after the module, then those of its package, then *cap* others. In each,
        those that mention it come before those that do not, and one of every function before the
        second of any.
        """
        functions, matching = defaultdict(list), self.matching(mutant, sources) - without
        for test in matching:
            seconds, outcome = self.outcomes.get(test, (0.0, "unknown"))
            if outcome == "passed" and seconds < TEST_LIMIT / 2:
                functions[test.partition("[")[0]].append((seconds, test))
        home = ROOT / "tests" / package_of(mutant.file)
        lists = own, near, others = [], [], []
        for function, tests in functions.items():
            file = function.partition("::")[0]
            at_home = (ROOT / file).parent == (home if home.exists() else home.parent)
            some = own if is_named_after(file, mutant.file) else near if at_home else others
            silent = mutant.word not in text_of(file)
            for number, (seconds, test) in enumerate(sorted(tests)):
                some.append((silent, number, seconds, test))
        for each in lists:
            each.sort()
        del others[cap:]
        for each in (own, near):
            sums = itertools.accumulate(seconds for _, _, seconds, _ in each)
            each[:] = [test for test, total in zip(each, sums) if total < NEAR_SECONDS]
        return len(matching), *(sorted(test for *_, test in each) for each in lists)


@functools.cache
def text_of(file):
    """What is written in *file*."""
    return (ROOT / file).read_text(encoding="utf-8")


def is_named_after(test_file, file):
    """Whether the tests of *test_file* are those of *file*, by its name."""
    test, module, package = Path(test_file), Path(file), package_of(file)
    at_home = package in ("top", test.parent.name) or package[:5] in test.stem
    return at_home and set(test.stem.split("_")) >= set(module.stem.split("_"))


# ---------------------------------------------------------------------------- running the tests


def copy_of_tree(folder):
    """A copy of the project in *folder*, and an environment in which it is the one imported."""
    root, home = folder / "tree", folder / "home"
    shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(*IGNORED), symlinks=True)
    (home / ".cache").mkdir(parents=True)
    (home / ".cache" / "claude-sync").symlink_to(CACHE.parent)  # where tests look for CLIs
    (folder / "tmp").mkdir()
    kept = {name: value for name, value in os.environ.items() if name != "CI"}
    own = {"PYTHONPATH": str(root), "HOME": str(home), "TMPDIR": str(folder / "tmp")}
    # Names of tests may depend on the order in a set.
    return root, {**kept, **own, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}


def alone():
    """A command that gives a process its own process numbers: a mutant cannot kill others."""
    command = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    command += ["--map-current-user"] if os.getuid() else []
    works = (
        shutil.which("unshare")
        and not subprocess.run([*command, "true"], capture_output=True, check=False).returncode
    )
    return command if works else []


class Runner:
    """A copy of the tree, and a process that has imported pytest and forks for every run."""

    def __init__(self):
        """Copy, and start."""
        folder = Path(tempfile.mkdtemp(prefix="mut"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        self.root, environment = copy_of_tree(folder)
        self.changes = 0
        self.process = subprocess.Popen(
            [*alone(), sys.executable, str(self.root / "tests" / "mutations.py"), "--serve"],
            cwd=self.root,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def run(self, tests, limit=MUTANT_LIMIT, stop=True):
        """Run *tests*: which failed, whether one hung, how many passed, CPU seconds."""
        request = {"tests": tests, "limit": limit, "stop": stop}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    @contextlib.contextmanager
    def changed(self, mutant):
        """The tree with this change."""
        path = self.root / mutant.file
        source, before = path.read_bytes(), path.stat()
        path.write_bytes(mutant.applied(source))
        # No other version of the file has this time, so no compiled one is taken for it.
        self.changes += 1
        os.utime(path, (10**9 + self.changes,) * 2)
        try:
            yield
        finally:
            path.write_bytes(source)
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


class Chosen:
    """A plugin that runs certain tests in a certain order, and remembers how they ended."""

    def __init__(self, tests):
        """Run *tests*."""
        self.order = {test: number for number, test in enumerate(tests)}
        self.passed, self.failed, self.hung = 0, [], False

    def pytest_collection_modifyitems(self, items):
        """Leave out everything else."""
        items[:] = [item for item in items if item.nodeid in self.order]
        items.sort(key=lambda item: self.order[item.nodeid])

    def pytest_runtest_logreport(self, report):
        """Remember it."""
        self.passed += report.passed and report.when == "call"
        if report.failed:
            self.failed.append(report.nodeid)
            self.hung = self.hung or "from pytest-timeout" in report.longreprtext


def run_tests(tests, stop, answer):
    """In a process of its own: run *tests*, and write what happened to *answer*."""
    import pytest

    os.setsid()
    log = os.open(answer.with_suffix(".log"), os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    for number, file in enumerate((os.open(os.devnull, os.O_RDONLY), log, log)):
        os.dup2(file, number)
    # The times of changed files make this safe, and tests need not be compiled again and again.
    sys.dont_write_bytecode = False
    plugin = Chosen(tests)
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    words = [*PYTEST, "--timeout", str(TEST_LIMIT * slowness()), *(["-x"] if stop else [])]
    code = pytest.main([*words, *files], plugins=[plugin])
    if code and code != pytest.ExitCode.NO_TESTS_COLLECTED and not plugin.failed:
        plugin.failed.append("the import")
    result = {"failed": plugin.failed, "hung": plugin.hung, "passed": plugin.passed}
    answer.write_text(json.dumps(result))


def too_long(number, frame):
    """A run has taken too long."""
    raise TimeoutError


def serve():
    """Fork for each request that comes by stdin."""
    import resource  # which Windows does not have

    import pytest

    del sys.path[0]  # the folder of this file, which pytest adds by itself
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        Path(folder, "test_nothing.py").write_text("import hypothesis, ujson\ndef test(): pass\n")
        pytest.main(["-c", os.devnull, "--rootdir", folder, *PYTEST, folder])
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGALRM, too_long)
    answer, spent = ROOT.parent / "answer.json", 0.0
    for line in sys.stdin:
        request = json.loads(line)
        answer.write_text('{"failed": ["the process"], "hung": false, "passed": 0}')
        child = os.fork()
        if not child:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            try:
                run_tests(request["tests"], request["stop"], answer)
            finally:
                os._exit(0)
        signal.alarm(int(request["limit"] * slowness()))
        try:
            while os.wait()[0] != child:  # orphans, whom tests expect to be gone
                pass
            signal.alarm(0)
            result = json.loads(answer.read_text())
        except TimeoutError:
            result = {"failed": ["all of it"], "hung": True, "passed": 0}
        with contextlib.suppress(OSError):
            if os.getpid() == 1:  # the first of its own space, so these are all that are left
                os.kill(-1, signal.SIGKILL)
            else:
                os.killpg(child, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:
                os.wait()
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        before, spent = spent, usage.ru_utime + usage.ru_stime
        print(json.dumps({**result, "cpu": spent - before}), flush=True)


# ----------------------------------------------------------------------------------- the report


@dataclass
class Verdict:
    """What became of a mutant."""

    mutant: Mutant
    matching: int = 0
    ran: int = 0
    killer: str = ""
    hung: bool = False
    cpu: float = 0.0

    @property
    def fate(self):
        """A word."""
        if self.killer:
            return "hung" if self.hung else "killed"
        return "survived" if self.ran else "not executed"


def judged(runner, mutant, matching, *lists):
    """Run lists of tests against *mutant*, each only if it has survived those before."""
    verdict = Verdict(mutant, matching)
    for tests in filter(None, lists):
        if not verdict.killer:
            with runner.changed(mutant):
                result = runner.run(tests)
            verdict.ran += result["passed"]
            verdict.cpu += result["cpu"]
            verdict.hung = result["hung"]
            verdict.killer = next(iter(result["failed"]), "")
    return verdict


def judge_all(mutants, choose, jobs):
    """The verdicts, by as many runners as there are *jobs*."""
    waiting, verdicts, errors = queue.SimpleQueue(), [], []
    for mutant in mutants:
        waiting.put((mutant, *choose(mutant)))

    def work():
        try:
            with Runner() as runner, contextlib.suppress(queue.Empty):
                while not errors:
                    verdict = judged(runner, *waiting.get_nowait())
                    verdicts.append(verdict)
                    line = (
                        f"{len(verdicts):4} {verdict.fate:12} {verdict.cpu:4.1f} {verdict.mutant}"
                    )
                    print(line, file=sys.stderr, flush=True)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return sorted(verdicts, key=lambda verdict: (verdict.mutant.file, verdict.mutant.line))


def failing_unchanged(tests):
    """Which of *tests* fail although nothing has been changed."""
    if not tests:
        return []
    with Runner() as runner:
        return runner.run(sorted(tests), limit=1800, stop=False)["failed"]


def report_of(verdicts):
    """The table, then the survivors."""
    by_package = defaultdict(list)
    for verdict in verdicts:
        by_package[package_of(verdict.mutant.file)].append(verdict)
    lines = [f"{'package':10}  mutants   killed     hung survived  killed %"]
    for package, those in [*sorted(by_package.items()), ("all", verdicts)]:
        killed, hung = sum(bool(v.killer) for v in those), sum(v.hung for v in those)
        counts = f"{len(those):9}{killed:9}{hung:9}{len(those) - killed:9}"
        lines.append(f"{package:10}{counts}{100 * killed / max(1, len(those)):10.0f}")
    for package, those in sorted(by_package.items()):
        left = [verdict for verdict in those if not verdict.killer]
        lines += ["", f"{package}: {len(left)} survived"] if left else []
        for verdict in left:
            tests = f"{verdict.ran} of {verdict.matching} tests ran"
            ran = tests if verdict.ran else "not executed"
            lines.append(f"  {verdict.mutant}  ({ran})")
    return "\n".join(lines)


def arguments():
    """What the command line says."""
    parser = argparse.ArgumentParser(description="How strong the tests are.")
    parser.add_argument("--count", type=int, default=200, help="how many changes; 0 is all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--package", action="append", default=[], metavar="NAME")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cap", type=int, default=120, help="tests of other packages, at most")
    parser.add_argument("--include", action="append", default=[], choices=SLOW)
    parser.add_argument("--leave-out", action="append", default=[], metavar="TEST")
    parser.add_argument("--report", type=Path, metavar="FILE")
    parser.add_argument("--fail-above", type=float, metavar="PERCENT")
    return parser.parse_args()


def is_wanted(file, given):
    """Whether changes of *file* are drawn."""
    package = package_of(file)
    if given.package:
        names = (package, Path(file).stem if package == "top" else "")
        return any(fnmatch.filter(names, pattern) for pattern in given.package)
    return package not in SLOW or package in given.include


def main():
    """Draw, run, report."""
    given, began = arguments(), time.monotonic()
    paths = sorted((ROOT / "claude_sync").rglob("*.py"))
    sources = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in paths}
    wanted = {file: source for file, source in sources.items() if is_wanted(file, given)}
    mutants = sampled(wanted, given.count, given.seed)
    known, without = Map(given.include, given.jobs), set(given.leave_out)
    failed = {test for test, (_, outcome) in known.outcomes.items() if outcome == "failed"}
    broken = failing_unchanged(failed - without)  # once more, now one by one
    if broken:
        print("These tests fail without any change:", *broken, sep="\n  ")
        return 2
    verdicts = judge_all(
        mutants, lambda mutant: known.chosen(mutant, sources, given.cap, without), given.jobs
    )
    seconds, cpu = time.monotonic() - began, sum(verdict.cpu for verdict in verdicts)
    each = cpu / max(1, len(verdicts))
    text = f"{' '.join(sys.argv)}: {seconds:.0f} s, {cpu:.0f} s of CPU, {each:.1f} s for each\n\n"
    text += report_of(verdicts)
    broken = failing_unchanged({v.killer for v in verdicts if "::" in v.killer})
    if broken:
        text += "\n\nNot to be trusted: these have killed, but fail without any change as well:\n  "
        text += "\n  ".join(broken)
    print(text)
    if given.report:
        given.report.write_text(text + "\n", encoding="utf-8")
    survived = 100 * sum(not verdict.killer for verdict in verdicts)
    limit = 100 if given.fail_above is None else given.fail_above
    return 2 if broken else int(survived > limit * len(verdicts))


if __name__ == "__main__":
    sys.exit(serve() if sys.argv[1:] == ["--serve"] else main())
