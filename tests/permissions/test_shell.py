"""What command lines run is held against real shells: nothing slips past a rule."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shell_lines import DAILY, FORBIDDEN, LINES, attempt, smuggled
from stand_in_requests import decided
from tables import each

from claude_sync.permissions import policies

SHELLS = {"bash": ["bash"], "dash": ["dash"], "zsh": ["zsh", "-f"], "ash": ["busybox", "ash"]}
ALLOWING = policies.allow_tools(
    *("Bash(git *)", "Bash(ls *)", "Bash(npm run test:*)", "Bash(test *)", "Bash(printf *)"),
    *("Bash([ *)", "Bash(read *)", "Bash(export *)", "Bash(find *)", "Bash(awk *)", "Bash(sed *)"),
    *("Bash(sort *)", "Bash(xargs ls *)", "Bash(echo *)", "Bash(cat *)", "Bash(split *)"),
    *("Bash(env *)", "Bash(timeout *)", "Bash(linux64 *)", "Bash(eval *)", "Bash(trap *)"),
    *("Bash(wait *)", "Bash(set *)", "Bash(unset *)", "Bash(kill *)", "Bash(exit *)"),
)
DENYING = policies.deny_tools("Bash(rm *)", "Bash(curl:*)", "Bash(touch *)")
BY_HAND = [*LINES["hidden"], *LINES["tried"]]


def allowed(line):
    """Whether the rules that allow cover a line."""
    return decided(ALLOWING, "Bash", {"command": line}) is not None


def denied(line):
    """Whether the rules that deny may mean a line."""
    return decided(DENYING, "Bash", {"command": line}) is not None


def starts(careful, python, runner):
    """Whether that interpreter runs, and finds the file, where the shells are to run."""
    command = [*careful, python, "-c", "import json, subprocess, sys; open(sys.argv[1])", runner]
    return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0


class Shells:
    """Real shells in a folder where only stand-ins are found, unprivileged where that can be."""

    # A file system that cannot be written, but for the folder, and no rights.
    CAREFUL = (
        'mount --bind / / && mount -o remount,ro,bind / && mount -t tmpfs -o mode=777 none "$1"'
        ' && folder=$1 && shift && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"'
        ' "$folder"'
    )

    def __init__(self, folder):
        runner = str(Path(__file__).with_name("shell_runner.py"))
        careful = ["unshare", "-m", "sh", "-c", self.CAREFUL, "sh", str(folder)]
        is_root = sys.platform == "linux" and os.geteuid() == 0 and shutil.which("setpriv")
        # Without rights, an interpreter below root's own folder may not find its libraries.
        pythons = [sys.executable, shutil.which("python3", path="/usr/bin:/usr/local/bin")]
        usable = [
            python for python in pythons if python and is_root and starts(careful, python, runner)
        ]
        command = [*careful, usable[0], runner] if usable else [sys.executable, runner, str(folder)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def traces(self, shell, line):
        """What a line left behind: files, and forbidden programs that ran."""
        self.process.stdin.write(
            json.dumps([[shutil.which(SHELLS[shell][0]), *SHELLS[shell][1:]], line]) + "\n"
        )
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        """End the process."""
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture(scope="module")
def shells():
    """The shells."""
    if os.name == "nt":
        pytest.skip("needs POSIX")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        found = Shells(folder)
        yield found
        found.close()


def any_shell(name):
    """Skip the test where a shell is missing."""
    if shutil.which(SHELLS[name][0]) is None:
        pytest.skip(f"needs {SHELLS[name][0]}")


def forbidden(traces):
    """Whether one of the forbidden programs ran."""
    return bool({f"ran-{name}" for name in FORBIDDEN} & set(traces))


def oracle(shells, shell, lines):
    """How many of some lines were allowed, and not denied; none of them may escape."""
    by_allow = by_deny = 0
    escaped = []
    for line in lines:
        is_allowed, is_denied = allowed(line), denied(line)
        if is_denied and not is_allowed:
            continue
        traces = shells.traces(shell, line)
        if is_allowed:
            by_allow += 1
            escaped += [("allowed", line)] if traces else []
        if not is_denied:
            by_deny += 1
            escaped += [("not denied", line)] if forbidden(traces) else []
    assert escaped == []
    return by_allow, by_deny


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_runs_nothing_that_slipped_past_a_rule(shells, shell):
    """What is allowed leaves nothing behind, and what is not denied does not run it."""
    any_shell(shell)
    chance = random.Random(20)
    by_allow, by_deny = oracle(shells, shell, [attempt(chance) for _ in range(400)])
    assert by_allow > 5
    assert by_deny > 15
    oracle(shells, shell, BY_HAND)


@pytest.mark.everything
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_runs_nothing_that_slipped_past_a_rule_in_many_lines(shells, shell, capsys):
    """The same for very many lines."""
    any_shell(shell)
    chance = random.Random(21)
    by_allow, by_deny = oracle(shells, shell, [attempt(chance) for _ in range(20_000)])
    with capsys.disabled():
        print(f"\n{shell}: 20,000 lines, {by_allow} allowed, {by_deny} not denied, none escaped")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_agrees_that_what_is_smuggled_runs(shells, shell):
    """The tests above would notice: most of the smuggled lines do run what is forbidden."""
    any_shell(shell)
    chance = random.Random(22)
    ran = sum(forbidden(shells.traces(shell, smuggled(chance.choice))) for _ in range(60))
    assert ran > 25


def test_the_shells_agree_that_hidden_commands_run(shells):
    """Together they run many of them."""
    found = [name for name, command in SHELLS.items() if shutil.which(command[0])]
    if {"bash", "zsh"} - set(found):
        pytest.skip("needs bash and zsh")
    ran = [any(forbidden(shells.traces(name, x)) for name in found) for x in LINES["hidden"]]
    assert sum(ran) > len(ran) // 2


@each("line", LINES["hidden"])
def test_a_hidden_command_is_denied_and_not_allowed(line):
    """What readers of command lines overlook is found, or the line cannot be read."""
    assert denied(line)
    assert not allowed(line)


@settings(max_examples=300)
@given(st.integers(0, 1 << 64))
def test_nothing_is_smuggled_past_a_rule(seed):
    """Whatever runs a forbidden command next to a harmless one."""
    line = smuggled(random.Random(seed).choice)
    assert not allowed(line), line
    assert denied(line), line


def test_daily_work_goes_on():
    """Of harmless lines few are refused, and those mostly because they write a file."""
    rules = [f"Bash({each})" for row in DAILY["rules"] for each in row.split("|")]
    allowing, denying = policies.allow_tools(*rules), policies.deny_tools("Bash(rm *)")
    daily = DAILY["lines"]
    refused = [x for x in daily if decided(allowing, "Bash", {"command": x}) is None]
    stopped = [x for x in daily if decided(denying, "Bash", {"command": x}) is not None]
    assert len(daily) >= 300
    assert len(refused) <= len(daily) * 0.05, refused
    assert len(stopped) <= len(daily) * 0.01, stopped


@each(
    "line",
    [
        *("git commit -m 'rm x'", "git rm x", "git log # rm x", "git log; ls; npm run test"),
        "git commit -F - <<'EOF'\nit's about rm x\nrm x\nEOF",
        "find . \\( -name '*.py' -o -name '*.c' \\) -exec grep x {} +",
        *("find . | xargs grep foo", "ls | xargs -n 1 wc -l", "bash build.sh --fast"),
        *("source venv/bin/activate && pytest", "uv run pytest -k 'a or b'"),
        "find . -exec sh -c 'wc -l \"$1\"' _ {} \\;",
        *(
            "docker run --rm -it alpine sh",
            "echo $((1 + 2)) ${x%.py} ${#x}",
            "sudo apt install zsh",
        ),
        *("bash -euo pipefail -c 'make test'", "sh <<'E'\nmake\nE", 'timeout "$T" pytest'),
        *("grep -rn 'rm -rf' .", 'for f in *; do wc -l "$f"; done', "python x.py $(git ls-files)"),
    ],
)
def test_data_is_not_a_command(line):
    """Arguments, comments and texts of other programs are left alone."""
    assert not denied(line)


@each(
    ("line", "is_allowed"),
    [
        *(("ls", True), ("  ls \t -l ", True), ("ls; git log", True), ("ls\n\ngit log\n", True)),
        *(
            ("ls &&\n ls", True),
            ("ls &", True),
            ("ls > /dev/null 2>&1", True),
            ("ls &>/dev/null", True),
        ),
        *(("ls > x", False), ("ls >> x", False), ("cat < x", True), ("cat < ../x", False)),
        *(("cat < /etc/passwd", False), ("ls < $x", False), ("ls &> x", False)),
        *(("CI=1 ls", True), ("PATH=. ls", False), ("X=$(ls) ls", False), ("CI=a", True)),
        *(('for f in *; do ls "$f"; done', True), ("for PATH in .; do ls; done", False)),
        *(("if ls; then git log; fi", True), ("if ls; then make; fi", False), ("(ls; ls)", True)),
        *(("echo $(ls)", True), ("echo $(make)", False), ('echo "$(ls $(make))"', False)),
        *(("[[ a ]]", False), ("f() { ls; }; f", False), ("ls <(ls)", False), ("ls |& cat", False)),
        *(("echo $((1))", False), ("echo ${x%y}", False), ("cat <<E\n$x\nE", False)),
        *(("cat <<'E'\n$x\nE", True), ("eval ls", False), ("trap ls EXIT", False), ("wait", False)),
        *(("test -v 'a[1]'", False), ("test -f 'a b'", True), ('[ "$x" = y ]', True)),
        *(("[ $x = y ]", False), ("[ 1 -eq 2 ]", True), ('[ "$x" -eq 2 ]', False)),
        *(("printf -v x y", False), ("printf '%s' \"$x\"", True), ("printf '%d' \"$x\"", False)),
        *(
            ("read -r line", True),
            ("read PATH", False),
            ("export CI=1", True),
            ("export PATH=.", False),
        ),
        *(("find . -name x", True), ("find . -delete", False), ("find . $x", False)),
        *(
            ("find . -exec ls {} +", False),
            ("find . {-delete,}", False),
            ("find . -fprint x", False),
        ),
        *(("awk '{print $1}' x", True), ("awk 'BEGIN {system(\"ls\")}'", False)),
        *(("awk '{print > \"x\"}'", False), ("awk -f x", False), ("awk 'NR > 1' x", True)),
        *(("sed -n 1,5p x", True), ("sed s/a/b/ x", True), ("sed '1e ls' x", False)),
        *(("sed 's/a/b/e' x", False), ("sed 'w x' y", False), ("sed -i s/a/b/ x", False)),
        *(("git diff x", True), ("git -c a=b diff", False), ("git --exec-path=. x", False)),
        *(("git grep -O x", False), ("git grep --open-f x", False), ("git bisect run x", False)),
        *(
            ("git rebase -x ls", False),
            ("git rebase main", True),
            ("git submodule foreach x", False),
        ),
        *(("git difftool -x ls", False), ("git fetch --upload-pa=x y", False), ("git $x", False)),
        *(("git clone ext::x", False), ("git switch -c x", True), ('git commit -m "$x"', True)),
        *(("sort x", True), ("sort -o x y", False), ("sort --comp=x y", False)),
        *(("env ls", False), ("linux64 ls", False), ("split --filter=ls x", False)),
        *(("timeout 5 ls", True), ("timeout 5 make", False), ("timeout -k 5 6 ls", False)),
        *(("xargs -0 ls -l", True), ("xargs git", False), ("xargs make", False), ("xargs", False)),
        *(
            ("git commit -m \"$(cat <<'EOF'\nA text.\nEOF\n)\"", True),
            ("ls 'a", False),
            ("", False),
        ),
        *(("make", False), ("'ls'", False), ("l\\s", False), ("./ls", False), ("ls\0", False)),
        *(("ls\u00a0x", False), ("ls \u202ex", False), ("ls \r", False), ("ls é", True)),
        *(("ls é|cat", False), ("ls $x[1]", False), ("ls \\\n#x", False), ("l\\\ns", False)),
    ],
)
def test_an_allow_rule_covers_what_every_shell_reads_alike(line, is_allowed):
    """Each command of the line, and nothing that happens beside them."""
    assert allowed(line) is is_allowed


@each(
    ("rule", "line"),
    [
        ("Bash(find * -exec grep *)", "find . -name x -exec grep y {} +"),
        ("Bash(git -C *)", "git -C .. status"),
        ("Bash(git bisect *)", "git bisect run x"),
        ("Bash(sudo apt *)", "sudo apt update"),
        ("Bash(bash scripts/*)", "bash scripts/x.sh"),
        ("Bash(eval ls)", "eval ls"),
        ("Bash(sed -i *)", "sed -i s/a/b/ x"),
    ],
)
def test_a_rule_covers_what_it_names_itself(rule, line):
    """The words that run something may stand in the rule."""
    assert decided(policies.allow_tools(rule), "Bash", {"command": line}) == "allow"


@each(
    ("rule", "line"),
    [
        ("Bash(find * -exec grep *)", "find . -exec rm x -exec grep y {} +"),
        ("Bash(find * -exec grep *)", "find . '-exec' rm ' -exec grep ' \\;"),
        ("Bash(find *)", "find . -exec$X rm x \\;"),
        ("Bash(find *)", "find . x$X"),
        ("Bash(sudo *)", "sudo ls"),
        ("Bash(env A=1 *)", "env A=1 rm x"),
        ("Bash(timeout 5 *)", "timeout 5 rm x"),
        ("Bash(sudo -u me *)", "sudo -u me rm x"),
        ("Bash(ssh host ls *)", "ssh host ls ';rm x'"),
        ("Bash(bash -c *)", "bash -c 'rm x'"),
        ("Bash(ls *)", "xargs -n $X ls"),
        ("Bash(ls)", "xargs ls"),
        ("Bash(poetry *)", "poetry run rm x"),
        ("Bash(sqlite3 *)", "sqlite3 a.db '.shell rm x'"),
        ("Bash(psql *)", "psql -c '\\! rm x'"),
        ("Bash(mysql *)", "mysql -e '\\! rm x'"),
        ("Bash(make *)", "make --eval='$(shell rm x)'"),
        ("Bash(make *)", "make SHELL=./x"),
        ("Bash(cmake *)", "cmake -E env rm x"),
        ("Bash(gcc *)", "gcc -wrapper rm,x a.c"),
        ("Bash(rustc *)", "rustc -C linker=./rm a.rs"),
        ("Bash(java *)", "java '-XX:OnError=rm x' A"),
        ("Bash(mvn *)", "mvn exec:exec -Dexec.executable=rm"),
        ("Bash(npm *)", "npm run x --script-shell=./rm"),
        ("Bash(npm *)", "npm exec rm"),
        ("Bash(mypy *)", "mypy --python-exec ./rm a.py"),
        ("Bash(helm *)", "helm template x --post-renderer ./rm"),
        ("Bash(nc *)", "nc -e rm host 80"),
        ("Bash(ip *)", "ip netns exec a rm x"),
        ("Bash(git *)", "git merge -s rm x"),
        ("Bash(git *)", "git pull --strategy=rm"),
        ("Bash(vim *)", "vim -c '!rm x'"),
        ("Bash(dotenv *)", "dotenv run rm x"),
        ("Bash(docker-compose *)", "docker-compose up; rm x"),
        ("Bash(tar *)", "tar xf a --to-command=rm"),
        ("Bash(rsync *)", "rsync -e ./rm a b:"),
        ("Bash(man *)", "man -P ./rm x"),
    ],
)
def test_a_rule_with_a_wildcard_covers_no_other_program(rule, line):
    """However much of the line the wildcard stands for."""
    assert decided(policies.allow_tools(rule), "Bash", {"command": line}) is None


@each("line", ["$(" * 50 + ")" * 50, "x" * 60_000, "sudo " + "a " * 400, "(" * 9000])
def test_what_is_made_to_take_long_is_given_up(line):
    """The line comes from the model."""
    assert denied(line)
    assert not allowed(line)
