"""A conversation with some of everything, hostile texts included, for tests of exports."""

from __future__ import annotations

import base64

from image_samples import png
from saved_sessions import Saved

# Each of them says in ``window.ran`` that it ran.
HOSTILE = (
    "<script>window.ran = 1</script>"
    "<img src=x onerror='window.ran = 2'>"
    "<svg onload='window.ran = 3'></svg>"
    "<details open ontoggle='window.ran = 4'>"
    "<iframe srcdoc='<script>parent.ran = 5</script>'></iframe>"
    "<style>main { display: none }</style>"
    "</pre></code></section></main></style></title>"
    "<meta http-equiv='refresh' content='0;url=http://127.0.0.1:9/'>"
    "<base href='http://127.0.0.1:9/'>"
    "<link rel='stylesheet' href='http://127.0.0.1:9/x.css'>"
)
LINKS = (
    "[click](javascript:window.ran=7) <javascript:window.ran=8> ![x](javascript:window.ran=9) "
    "[data](data:text/html,<script>window.ran=10</script>) ![far](http://127.0.0.1:9/x.png) "
    "[good](https://example.org/page)"
)
ANSWER = """\
## What I found

The function **`area`** takes its arguments in the wrong order:

| argument | meaning | unit |
|----------|:-------:|-----:|
| width    | across  |   mm |
| height   | up      |   mm |

```python
def area(width: float, height: float) -> float:
    return width * height  # <- <b>not</b> bold
```

1. I changed it
2. and ran the tests

> All of them pass.
"""


def rich_session(config, hostile=False):
    """A saved conversation: text, thinking, tools, an edit, a picture, a subagent, a failure."""
    saved = Saved(config)
    words = HOSTILE + LINKS if hostile else ""
    saved.user(f"Fix the function area, please.\nIt is in shapes.py. {words}")
    saved.reply([{"type": "thinking", "thinking": f"Let me look at it first. {words}"}], "m1")
    saved.says(f"I will look. {words}", reply="m2")
    saved.calls("t1", "Read", {"file_path": f"/srv/shop/shapes.py{words}"}, reply="m2")
    saved.result("t1", f"1\tdef area(height, width):\n2\t    return width\n{words}")
    saved.calls(
        "t2",
        "Edit",
        {
            "file_path": f"/srv/shop/shapes.py{words}",
            "old_string": f"def area(height, width):\n    return width\n{words}",
            "new_string": f"def area(width, height):\n    return width * height\n{words}",
        },
        reply="m3",
    )
    patch = {
        "oldStart": 1,
        "newStart": 1,
        "lines": [
            "-def area(height, width):",
            f"-    return width{words}",
            "+def area(width, height):",
            f"+    return width * height{words}",
            f" # the end {words}",
        ],
    }
    saved.result("t2", f"The file was updated. {words}", toolUseResult={"structuredPatch": [patch]})
    saved.calls("t3", "Bash", {"command": f"pytest -q {words}"}, reply="m4")
    failed = {"type": "tool_result", "tool_use_id": "t3", "is_error": True}
    saved.user([{**failed, "content": f"exit code 1: no module named pytest {words}"}])
    saved.calls("t4", "Read", {"file_path": "/srv/shop/plot.png"}, reply="m5")
    picture = {
        "type": "image",
        "source": {
            "type": "base64",
            "media_type": "image/png",
            "data": base64.b64encode(png(64, 32)).decode(),
        },
    }
    saved.user([{"type": "tool_result", "tool_use_id": "t4", "content": [picture]}])
    saved.says(ANSWER + words, reply="m6")
    saved.user(f"Thanks! {words}")
    saved.says("You are welcome.", reply="m7")
    if hostile:
        saved.note("custom-title", customTitle=words, sessionId=saved.session_id)
        saved.user("x" * 300_000)
        saved.says("y" * 300_000, reply="m8")
    return saved.save()
