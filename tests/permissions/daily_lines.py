"""
Three hundred harmless command lines of daily work, and the rules a person writes for them.

They were written before the reader of command lines was: they are what it is measured with.
None of them runs ``rm``; some speak of it.
"""

from __future__ import annotations

#: Bash(...) of each of these is what the person allows.
RULES = """
cd *|ls *|pwd|echo *|cat *|head *|tail *|wc *|sort *|uniq *|cut *|tr *|diff *|comm *|tree *
file *|stat *|du *|df *|date *|which *|whoami|id *|uname *|hostname|env|printenv *|printf *
true|false|test *|[ *|mkdir *|touch *|cp *|mv *|ln *|chmod *|basename *|dirname *|realpath *
readlink *|sleep *|seq *|tee *|xargs ls *|xargs wc *|xargs grep *|xargs sed -n *|xargs cat *
find *|grep *|rg *|sed *|awk *|jq *|column *|nl *|paste *|sha256sum *|md5sum *|cmp *|export *
git status *|git diff *|git log *|git show *|git add *|git commit *|git branch *|git checkout *
git switch *|git stash *|git fetch *|git pull *|git push *|git rev-parse *|git remote *
git merge *|git blame *|git ls-files *|git config *|git tag *|git rebase *|git cherry-pick *
git restore *|git worktree *|git init *|git clone *|git grep *|git describe *|git -C *
python *|python3 *|pytest *|pip *|pip3 *|ruff *|mypy *|black *|poetry *|uv *|tox *|coverage *
node *|npm *|npx *|yarn *|pnpm *|tsc *|eslint *|jest *|vite *|bun *|deno *
cargo *|rustc *|go *|gofmt *|make *|cmake *|gcc *|javac *|java *|mvn *|./gradlew *|./mvnw *
docker *|docker-compose *|kubectl *|helm *|terraform *|gh *|curl *|wget *|ping *|nc *|dig *
ps *|kill *|lsof *|free *|uptime|top *|nproc|tar *|gzip *|gunzip *|unzip *|zip *
bundle *|rails *|ruby *|php *|composer *|dotnet *|swift *|./scripts/*|./run.sh *|bash scripts/*
source venv/bin/activate|source .venv/bin/activate|. .venv/bin/activate|sqlite3 *|psql *
npx tsc *|npx jest *|npx eslint *|npx prettier *|uv run pytest *|poetry run pytest *
find * -exec grep *|find * -exec ls *|redis-cli *
timeout *|command -v *|type *|less *|man *|set -e|set -o pipefail|wait
openssl *|base64 *|xxd *|strings *|nm *|ldd *|hexdump *|journalctl *|systemctl status *
pre-commit *|alembic *|flask *|django-admin *|./manage.py *|read *|aws *|sphinx-build *
"""

LINES = r"""
ls
ls -la
ls -la src/
ls -l | head -20
ls *.py
ls -R src | grep ":$"
ls -t | head -n 5
ls src/**/*.ts
ls -la ~/.config
ls -d */
pwd
pwd && ls -la
cd src && ls
cd /home/me/project && git status
cd "my folder" && ls
cd - && ls
cd ~/project && npm test
cd $HOME/project && make
cat README.md
cat src/main.py | head -50
cat package.json | jq '.scripts'
cat package.json | jq -r '.dependencies | keys[]'
cat -n src/app.py
cat src/a.py src/b.py
cat /etc/os-release
cat ~/.gitconfig
cat .env.example 2>/dev/null || echo "no example"
cat file.txt | tr 'a-z' 'A-Z'
cat log.txt | sort | uniq -c | sort -rn | head
head -n 20 CHANGES.rst
head -c 100 data.bin | xxd
tail -n 50 app.log
tail -f app.log | grep ERROR
tail -100 /var/log/syslog | grep -i error
wc -l src/*.py
wc -l $(git ls-files '*.py')
find . -name "*.py"
find . -name "*.py" | wc -l
find . -type f -name '*.ts' -not -path './node_modules/*'
find . -type f \( -name '*.c' -o -name '*.h' \)
find src -name '*.py' | xargs wc -l
find . -name '*.py' -print0 | xargs -0 grep -l "import os"
find . -maxdepth 2 -type d | sort
find . -size +1M -ls
find . -newer setup.py -name '*.py'
find . -name '*.md' | head -20
find / -name "libfoo*" 2>/dev/null
find . -path ./node_modules -prune -o -name '*.js' -print
grep -rn "TODO" src/
grep -r "def main" --include="*.py" .
grep -rn "rm -rf" scripts/
grep -i error app.log | tail -20
grep -E "^(import|from)" src/main.py
grep -c "" README.md
grep -A 5 -B 2 "class Foo" src/foo.py
grep -rl 'useState' src | sort
grep -v '^#' config.ini | grep -v '^$'
grep -n "foo\|bar" src/x.py
grep -oP '(?<=version = ")[^"]+' pyproject.toml
grep "$USER" /etc/passwd
grep -rn 'console\.log(' src --include='*.ts' | wc -l
grep -q "foo" file.txt && echo found
grep -rn "\$HOME" .
rg "fn main" -t rust
rg -n "TODO|FIXME" src
rg --files | rg test
rg -l 'import React' --glob '*.tsx'
rg -C 3 "async def" src/
rg "rm " scripts --type sh
sed -n '1,50p' src/main.py
sed -n 10,20p file.txt
sed -n '/def main/,/^def /p' src/main.py
sed 's/foo/bar/g' file.txt
sed -n '5p' file.txt
sed -i 's/old/new/g' src/config.py
sed -e 's/a/b/' -e 's/c/d/' file.txt
sed '/^$/d' file.txt
sed -n '$p' file.txt
awk '{print $1}' access.log
awk -F: '{print $1}' /etc/passwd
awk -F, 'NR>1 {sum += $3} END {print sum}' data.csv
awk '/error/ {print NR": "$0}' app.log
awk '{print $NF}' file | sort | uniq -c
awk 'length > 100' src/*.py
ps aux | grep node
ps aux | awk '{print $2}' | head
ps -ef | grep -v grep | grep python
sort file.txt | uniq
sort -k2 -n data.txt
sort -t, -k3 -rn data.csv | head
uniq -c words.txt
cut -d: -f1 /etc/passwd
cut -d',' -f2,3 data.csv | head
diff a.txt b.txt
diff -u old.py new.py | head -100
diff -r dir1 dir2
comm -12 a.txt b.txt
tree -L 2
tree -I 'node_modules|.git'
du -sh *
du -sh .git | cut -f1
df -h
file bin/app
stat -c '%s %n' *.bin
date +%Y-%m-%d
date -u "+%Y-%m-%dT%H:%M:%SZ"
echo "hello world"
echo $PATH
echo "$HOME/bin"
echo "exit: $?"
echo "The price is \$5"
echo 'single $quoted'
echo "---" && git status
echo -e "a\nb"
echo done; ls
echo "remove with rm -rf build"
echo "Branch: $(git rev-parse --abbrev-ref HEAD)"
printf '%s\n' "$PATH"
printf "%-10s %s\n" name value
which python node npm
which python3 && python3 --version
command -v docker
type git
uname -a
id -u
nproc
free -h
env | sort
env | grep -i proxy
printenv PATH
true && echo ok
test -f setup.py && echo yes
test -d node_modules || npm install
[ -f package.json ] && cat package.json
[ -d .git ] && git status || echo "not a repository"
[ "$CI" = "true" ] && echo ci
if [ -f setup.py ]; then echo yes; else echo no; fi
if git diff --quiet; then echo clean; fi
for f in *.py; do echo "$f"; done
for f in src/*.ts; do wc -l "$f"; done
for i in 1 2 3; do echo $i; done
for i in $(seq 1 5); do echo "run $i"; pytest tests/test_x.py -q; done
for d in */; do echo "== $d"; ls "$d" | head -3; done
while read -r line; do echo "$line"; done < names.txt
git ls-files | while read f; do wc -l "$f"; done
git status
git status --short
git status -sb
git diff
git diff --stat
git diff HEAD~1 -- src/
git diff main...HEAD --name-only
git diff --cached | head -200
git diff --stat origin/main..HEAD
git log --oneline -10
git log -5 --pretty=format:'%h %an %s'
git log --oneline --graph --all | head -30
git log -p -1 src/main.py
git log --since="2 weeks ago" --author="Ann"
git log --format="%H %s" | grep -i fix
git log -S 'rm -rf' --oneline
git show HEAD
git show HEAD:src/main.py
git show --stat abc1234
git show HEAD~2:README.md | head -20
git show HEAD@{1} --stat
git add .
git add -A && git status
git add src/main.py tests/test_main.py
git add -p
git commit -m "Fix the parser"
git commit -m 'Add tests for the reader'
git commit -am "wip"
git commit --amend --no-edit
git commit -m "Drop rm from the script; use trash instead"
git commit -m "Fix bug (closes #12)"
git commit -m "feat: add $NAME support"
git commit -m "First line" -m "Second paragraph, with more words."
git add -A && git commit -m "Update docs"
git add . && git commit -m "Update" && git push
git branch
git branch -a
git branch --show-current
git branch -d old-feature
git checkout main
git checkout -b feature/new-thing
git checkout -- src/main.py
git switch -c fix/typo
git stash
git stash list
git stash pop
git fetch origin
git fetch --all --prune
git pull --rebase
git pull origin main
git push
git push -u origin HEAD
git push origin feature/x
git rev-parse HEAD
git rev-parse --show-toplevel
git remote -v
git merge main
git merge --no-ff feature/x
git blame -L 10,20 src/main.py
git ls-files | wc -l
git ls-files '*.py' | xargs wc -l | tail -1
git config --get user.name
git config --list | grep user
git tag --list | tail -5
git rebase main
git cherry-pick abc1234
git restore --staged src/x.py
git worktree list
git grep -n "TODO" -- '*.py'
git describe --tags --always
git -C ../other status
git rm --cached secrets.txt --dry-run || git status
python --version
python main.py
python -m pytest
python -m pytest tests/ -x -q
python -m pytest tests/test_a.py::test_b -v 2>&1 | tail -30
python -m pytest -k "not slow" --tb=short
python -c "print(1 + 1)"
python -c "import sys; print(sys.version)"
python -c 'import json; print(json.dumps({"a": [1, 2]}))'
python3 -c "import numpy as np; print(np.__version__)"
python3 -m venv .venv
python3 -m http.server 8000 &
python manage.py migrate
python setup.py --version
python -m json.tool data.json | head
source venv/bin/activate && pytest
. .venv/bin/activate && pip list
pytest
pytest -x --tb=short 2>&1 | head -50
pytest tests/ -q --no-header 2>&1 | tail -5
pytest --cov=src --cov-report=term-missing
PYTHONPATH=. pytest tests/
PYTHONPATH=src python -m app
DEBUG=1 python main.py
NODE_ENV=test npm test
CI=true npm run build
pip install -r requirements.txt
pip install -e '.[dev]'
pip install "requests>=2.0"
pip list | grep -i django
pip show requests
pip freeze | head
ruff check .
ruff check --fix src && ruff format src
ruff check . && mypy src && pytest
mypy --strict src
black --check .
poetry install
poetry run pytest
uv pip install -e .
uv run pytest -q
coverage run -m pytest && coverage report
npm install
npm ci
npm test
npm run build
npm run build 2>&1 | tail -20
npm run lint -- --fix
npm run dev &
npm test -- --watchAll=false
npm ls react
npm outdated || true
npx tsc --noEmit
npx prettier --check "src/**/*.{ts,tsx}"
npx jest src/foo.test.ts
npx eslint . --ext .js,.ts
yarn install --frozen-lockfile
yarn test
pnpm install && pnpm build
node -e "console.log(process.version)"
node -e 'console.log(require("./package.json").version)'
node dist/index.js --help
tsc --noEmit -p tsconfig.json
cargo build
cargo build --release 2>&1 | tail -5
cargo test -- --nocapture
cargo clippy --all-targets -- -D warnings
cargo fmt --check
go build ./...
go test ./... -v | grep -E "^(PASS|FAIL)"
go vet ./... && go test ./...
gofmt -l .
make
make test
make -j4 all
make -j$(nproc)
make clean && make
cmake -S . -B build && cmake --build build -j 4
gcc -Wall -o app main.c && ./run.sh app
mvn -q test
./gradlew test --info
docker ps
docker ps -a --format '{{.Names}}'
docker run --rm -it alpine sh -c "echo hi"
docker build -t app:latest .
docker compose up -d
docker logs app --tail 100
docker exec app ls /app
docker images | head
kubectl get pods -n default
kubectl logs deploy/app --tail=50
kubectl get pods -o jsonpath='{.items[*].metadata.name}'
terraform plan
gh pr list
gh pr view 12 --json title,body
gh pr create --title "Fix the parser" --body "This fixes the parser."
gh issue list --limit 5
gh api repos/a/b/pulls --jq '.[].title'
curl -s https://example.com/api | jq .
curl -sS -X POST -H 'Content-Type: application/json' -d '{"a": 1}' http://localhost:8000/x
curl -I https://example.com
curl -s "http://localhost:3000/health?full=1&x=2"
curl -o /dev/null -s -w '%{http_code}\n' http://localhost:8000
wget -q https://example.com/file.zip
lsof -i :3000
kill 12345
kill -9 $(lsof -t -i:3000)
mkdir -p src/components
mkdir -p build && cd build && cmake ..
touch src/__init__.py
cp config.example.yml config.yml
cp -r src/ backup/
mv old.py new.py
ln -s ../common common
chmod +x scripts/run.sh
./scripts/build.sh --release
bash scripts/deploy.sh --dry-run
tar -czf out.tar.gz dist/
tar -tzf out.tar.gz | head
unzip -l archive.zip
timeout 60 pytest -x
timeout 10s npm start
time make test
sleep 2 && curl -s localhost:8000/health
sqlite3 app.db "SELECT name FROM sqlite_master WHERE type='table';"
psql -c "select count(*) from users"
openssl rand -hex 16
export PATH="$HOME/bin:$PATH"
export FOO=bar && npm test
set -e
set -o pipefail; npm test 2>&1 | tee /dev/null
ls nonexistent 2>/dev/null; echo $?
npm test > /dev/null 2>&1 && echo ok || echo failed
pytest > out.txt 2>&1
git diff > changes.patch
echo "text" > notes.txt
echo "export X=1" >> .envrc
npm run build > build.log 2>&1; tail -5 build.log
find . -name '*.pyc' -exec ls -l {} +
find . -type f -exec grep -l foo {} \;
basename "$PWD"
dirname $(realpath setup.py)
(cd sub && ls)
{ echo a; echo b; } | sort
! grep -q TODO src/main.py
ls # what is here
# list the tests first
python -m pytest --collect-only -q | tail -1; echo "rm is not run"
"""

#: Those of several lines.
BLOCKS = (
    "git commit -m \"$(cat <<'EOF'\nFix the reader of lines\n\nIt now reads all of them.\nEOF\n)\"",
    "git add -A && git commit -m \"$(cat <<'EOF'\nAdd a table of programs\n\n"
    '- no rm any more\n- less code\nEOF\n)"',
    "cat <<'EOF' > notes.txt\nsome text\nEOF",
    "cat > src/new.py <<'EOF'\nimport os\n\nprint(os.getcwd())\nEOF",
    "python - <<'EOF'\nimport json\nprint(json.dumps([1, 2]))\nEOF",
    "python3 <<'PY'\nfrom pathlib import Path\nfor p in Path('.').glob('*.py'):\n    print(p)\nPY",
    "cd src\nls\ngit status",
    "git status\n\ngit diff",
    "pytest tests/ \\\n  -x \\\n  --tb=short",
    "docker run \\\n  --rm \\\n  -v /tmp:/data \\\n  alpine ls /data",
    "for f in a b c; do\n  echo $f\n  wc -l $f\ndone",
    "if [ -f Makefile ]; then\n  make test\nfi",
    'gh pr create --title "Fix" --body "$(cat <<\'EOF\'\n## Summary\n- fixes it\nEOF\n)"',
    "# run the tests\npytest -q",
    "ls -la &&\n  pwd",
    "curl -s https://example.com \\\n  | jq '.items[] | {id, name}'",
    'git commit -m "Fix the reader\n\nIt reads all lines now."',
    "cat <<EOF\nplain text\nEOF",
    "python -c \"\nimport os\nprint(os.listdir('.'))\n\"",
    "git log --oneline |\n  head -5",
)


def lines():
    """All of them, each once."""
    return [*LINES.strip().split("\n"), *BLOCKS]
