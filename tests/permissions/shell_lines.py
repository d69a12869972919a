"""Command lines that run, or seem to run, what is forbidden; and more of them at random."""

from __future__ import annotations

HARMLESS = ("git status", "git log -1", "ls", "npm run test", "npm run test unit", "git")
FORBIDDEN = ("rm", "curl", "touch")

# Each surely runs the forbidden command {b}, or tries to, next to the allowed one {a}.
JOININGS = (
    "{a};{b}",
    "{b};{a}",
    "{a}&&{b}",
    "{a} || {b}",
    "{a}|{b}",
    "{b} |& {a}",
    "{a}&{b}",
    "{a}\n{b}",
    "{b}\n{a}\n",
    "{a} \\\n; {b}",
    "{a} $({b})",
    '{a} "$({b})"',
    '{a} "a `{b}` b"',
    "{a} `{b}`",
    "{a} <({b})",
    "{a} >({b})",
    "({b})",
    "{a};({b})",
    "{{ {b}; }}",
    "{a} && {{ {b}\n}}",
    "if {a}; then {b}; fi",
    "if {b}; then {a}; fi",
    "for i in a b; do {b}; done",
    "for i in $({b}); do {a}; done",
    "while {b}; do break; done",
    "until ! {b}; do {a}; break; done",
    "case a in a) {b};; esac",
    "! {b}",
    "time {b}",
    "f() {{ {b}; }}; f",
    "function f {{ {b}; }}; f",
    "{a} ${{x:-$({b})}}",
    "{a} $(( $({b}) ))",
    "{a} <<EOF\n$({b})\nEOF",
    "{a} <<'EOF'\nit's\nEOF\n{b}",
    "{a} <<< $({b})",
    "X=1 {b}",
    "X=$({b}) {a}",
    ">/dev/null {b}",
    "2>&1 {b}",
    "{a} # '\n{b}",
    "{a} '#' ; {b}",
    "{a} \\' ; {b} \\'",
    "{a} 'it'\\''s' ; {b}",
    '{a} "\\"" ; {b} "\\""',
    '{a} "${{x}}" ; {b}',
    "{a} $'\\'' ; {b} #'",
    "[[ a ]] && {b}",
    "eval '{b}'",
    "command {b}",
    "env {b}",
    "env A=1 {b}",
    "nohup {b}",
    "exec {b}",
    "sudo {b}",
    "X={b}; $X",
    "trap '{b}' EXIT",
)
# Each runs rm, or tries to, in a way that a reader of command lines may overlook.
# These also do so in a shell where only stand-ins and the programs of REAL are found;
# {p} is their folder.
HIDDEN = (
    'ls "$\\\n(rm x)"',
    "ls\u00a0#; rm x",
    "ls \v#; rm x",
    "ls \r#; rm x",
    "ls \u2003#; rm x",
    "2\\\n>/dev/null rm x",
    "cat <<E $(\nrm x\n)\nE\n)",
    "ls $(cat <<E\nE)\nrm x\nE\n)",
    "ls ${{x:-<(rm x)}}",
    "false && ls $[ #]; rm x",
    "false && (( #)); rm x\n))",
    "ls $[1<<E]\nrm x\nE]\n",
    "a[1<<2]=3\nrm x\n2]=3",
    "false && a[ #]=1; rm x",
    "env -u for rm x",
    "exec -a for rm x",
    "flock case rm x",
    "echo x | xargs -I case rm case",
    "x=val; e$x 'ls;rm y'",
    "{p}/bas? -c 'ls;rm x'",
    "{p}/../p*/rm x",
    "shopt -s extglob\n{p}/r@(m) x",
    "echo 'rm x' | sh -s foo",
    "echo 'rm x' | bash -o errexit",
    "echo 'rm x' | bash --rcfile y",
    "echo 'rm x' | bash /dev/fd/0",
    "echo 'rm x' | bash 3<<< ls",
    "echo 'rm x' | bash {{f}}<<< ls",
    "bash <<< ls < <(echo rm x)",
    "source /dev/stdin <<< 'rm x'",
    ". <(echo rm x)",
    "echo rm x | xargs env",
    "echo rm x | xargs nice",
    "echo 'rm x' | xargs -I{{}} sh -c '{{}}'",
    "find {p} -name rm -exec {{}} x \\;",
    "find . -maxdepth 0 -exec sh -c 'rm {{}}' \\;",
    "env '-Srm x'",
    "env -Srm x",
    "env --split-string='rm x'",
    "env '-S-Srm x'",
    "env '-Srm\r x'",
    "env -u \rfor rm x",
    "env '-Sa]=1 rm x'",
    "a=(1)#; rm x",
    "a=()b rm x",
    "source rm x",
    "echo 'rm x' | bash -otime errexit",
    "echo 'rm x' | sh -s a -exec",
    "prlimit rm x",
    "rbash -c 'ls;rm x'",
    "hash -p {p}/rm foo; foo x",
    "compgen -C 'rm x'",
    "compgen -W '$(rm x)'",
    "test -v 'a[$(rm x)]'",
    "test -v a[\\$\\(rm\\ x\\)]",
    "test -v $'a[\\x24(rm x)]'",
    "test -v ${{x:-'a[$(rm x)]'}}",
    "[[ 'a[$(rm x)]' -eq 0 ]]",
    "let 'a[$(rm x)]=1'",
    "printf -v 'a[$(rm x)]' y",
    "read 'a[$(rm x)]' <<< y",
    "a=(1); unset 'a[$(rm x)]'",
    "declare -i y='a[$(rm x)]'",
    "declare -n r='a[$(rm x)]'; ls $r",
    "x='a[$(rm x)]'; ls $((x))",
    "x='$(rm x)'; ls ${{x@P}}",
    "PS4='$(rm x)'; set -x; ls",
)
REAL = ("bash", "sh", "cat", "xargs", "env", "find", "flock", "nice", "prlimit", "rbash")
# And these need another shell, or a program that few machines have.
HIDDEN_ELSEWHERE = (
    *("su --command='ls;rm x'", "script -c'ls;rm x'", "ls & wait -n -p 'a[$(rm x)]'", "=rm x"),
    *("ls ${{ rm x; }}", "ls ${{| rm x; }}", "ls ${{(e)x}} $(rm x)", "csh -c 'ls;rm x'"),
    *("tcsh -c 'ls;rm x'", "ksh93 -c 'ls;rm x'", "yash -c 'ls;rm x'", "pwsh -c 'ls;rm x'"),
    *("pkexec rm x", "run0 rm x", "choom -n 1 -- rm x", "genv rm x", "gtimeout 1 rm x"),
    *("valgrind rm x", "perf stat rm x", "tmux new 'ls;rm x'", "screen -dm rm x", "uv run rm x"),
    *("poetry run rm x", "pipenv run rm x", "gosu me rm x", "tini -- rm x", "gnice rm x"),
    *("echo rm | xargs -I% % x", "echo rm x | parallel", "a=1\u2028#; rm x"),
)
# Where readers of the shells' grammar disagree: each runs rm in one shell at least.
DISPUTED = (
    *(">! rm -rf x", "ls; >>! rm x", ">&-rm x", "2>&-rm x", "sh -c 'ls &>o rm x'", "<<<! rm x"),
    *(">|! rm x", "ls &!rm x", "$='rm' x", "{{ ls }} always {{ rm x }}", "ls &>o rm x"),
    *("while {{ }} {{ rm x; break }}", "if [[ a ]] {{ rm x }}", "repeat 1 rm x", "() {{ rm x }}"),
    *(
        "for f (a) {{ rm x }}",
        "for f in a; {{ rm x; }}",
        "foreach f (a); rm x; end",
        "f g() rm x; f",
    ),
    *("f() rm x; f", "noglob rm x", "- rm x", "coproc rm x", "ls &| rm x", "ls |& rm x"),
    *("{{ rm x }}", "ls >(rm x)", "time -p rm x", "time ! rm x", "! ! rm x", "ls;\n\nrm x"),
    *("ls `rm x`", "ls ${{a}}$(rm x)", "a=rm; ${{a}} x", "a=rm; $a x", "${{a:-rm}} x"),
    *("ls\t;rm x", "\\rm x", "r\\m x", "'r'm x", '"rm" x', "select f in a; do rm x; done"),
    *("case a in a) rm x;; esac", "case a in (a) rm x; esac", "function f {{ rm x; }}; f"),
    *(
        "linux64 rm x",
        "setarch -R rm x",
        "run-parts @programs@",
        "split --filter='rm x' @programs@/git",
    ),
    *(
        "awk 'BEGIN {{ system(\"rm x\") }}'",
        "awk 'BEGIN {{ print | \"rm x\" }}'",
        "sed '1e rm x' @programs@/git",
    ),
    *(
        "find . -exec rm x \\;",
        "find . -ok rm x \\;",
        "sort --compress-prog=rm x",
        "xargs rm x < /dev/null",
    ),
    *("alias ls='rm x'\nls", "eval 'r''m x'", "echo 'rm x' > f; sh f", "echo 'rm x' > f; . ./f"),
    *(
        "trap 'rm x' EXIT",
        "exec rm x",
        "env -S 'rm x'",
        "printf '%d' 'a[$(rm x)]'",
        "getln 'a[$(rm x)]'",
    ),
    *("x=1; export 'x[$(rm x)]=1'", "exit 'a[$(rm x)]'", "a=(1 2); shift 'a[$(rm x)]'"),
    *(
        "PATH=. ls; rm x",
        "for PATH in .; do ls; rm x; done",
        "test 'a[$(rm x)]' -eq 1",
        "ls & rm x &",
    ),
    *(
        "print -v 'a[$(rm x)]' y",
        "mapfile -C 'rm x' -c 1 a < @programs@/git",
        "wait -p 'a[$(rm x)]'",
    ),
)
BLANKS = (" ", "  ", "\t", " \\\n ", " \\\n")
# Ways to write a name; the shell takes all of them for the same.
SPELLINGS = (
    lambda name: name,
    lambda name: f'"{name}"',
    lambda name: f"'{name}'",
    lambda name: f"\\{name}",
    lambda name: name[0] + "\\" + name[1:],
    lambda name: name[0] + '""' + name[1:],
    lambda name: name[0] + "''" + name[1:],
    lambda name: name[0] + "\\\n" + name[1:],
    lambda name: f"$'{name}'",
    lambda name: f"${{none-{name}}}",
)

PIECES = (
    *(
        ">!",
        ">>!",
        ">&-",
        "2>&-",
        "&>o ",
        "<<<!",
        ">|!",
        "&!",
        "$=",
        " always ",
        "repeat 1 ",
        "() ",
    ),
    *("test -v ", "printf ", "[ ", "'a[$(rm x)]'", "-eq ", "export ", "read ", "xargs ", "find . "),
    *("-exec ", "'rm x'", "time ", "-p ", "<(", "sh -c ", "trap ", "$'r", "m x", "awk ", "sed "),
    *("git", "git ", "git status", "ls", "npm run test", "rm x", "curl y", "touch z", "rm", "r"),
    *(" ", " ", "\t", "\n", ";", "&&", "||", "|", "&", "|&", "'", '"', "\\", "\\\n", "$(", ")"),
    *("`", "(", "{ ", " }", "{", "}", "<", "<<EOF\n", "\nEOF\n", ">", "> /dev/null", "2>&1"),
    *(">f", "<<<", "$'", "${x:-", "$x", "${x}", "$((", "))", "#", " # ", "!", "if ", "; then "),
    *("; fi", "case a in a) ", " ;; esac", "for i in a; do ", "; done", "eval ", "command "),
    *("X=1 ", "X=rm;", "$X ", "time ", "env ", "nohup ", "sudo ", "\r", "\v", "*", "?", "[", "]"),
    *(
        "f() { ",
        "; }; f",
        "-",
        "=",
        "\u00a0",
        "\u202e",
        "bash -c ",
        "<<'EOF'\n",
        "x[0]=1 ",
        "[[ a ]] ",
    ),
)


def joined(a, b, choices):
    """One line that runs *b*; *choices* picks among the ways to do it."""
    joining = choices(JOININGS)
    if "'{b}'" in joining or "X={b}" in joining:
        return joining.format(a=a, b=b.split()[0])
    return joining.format(a=a, b=b)


def forbidden_command(choices):
    """A forbidden command, its name written in some way."""
    return choices(SPELLINGS)(choices(FORBIDDEN)) + choices(BLANKS) + "x"


def smuggled(choices):
    """A line that runs a forbidden command somewhere, perhaps deep inside."""
    name = choices(FORBIDDEN)
    line = joined(choices(HARMLESS), f"{name} x", choices)
    if "'" not in line and "eval" not in line:
        line = line.replace(f"{name} x", forbidden_command(choices))
    if choices((True, False, False)) and "EOF" not in line and "#" not in line:
        line = choices(("{a} $(\n{b}\n)", "(\n{b}\n)", "{{ {b}\n}}", "{a} && {b}")).format(
            a=choices(HARMLESS), b=line
        )
    return line


def soup(choices, length):
    """Pieces of shell grammar in no order."""
    return "".join(choices(PIECES) for _ in range(length))
