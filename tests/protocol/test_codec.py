"""The codec: reading forgives, writing does not."""

import collections
import enum
import json
import math
import types

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from claude_sync.errors import UsageError
from claude_sync.prompts import user_message
from claude_sync.protocol import codec
from claude_sync.protocol.codec import DEEPEST, decode, encode

# Surrogates included: names of undecodable files bring them in.
TEXTS = st.text(alphabet=st.characters(exclude_categories=()), max_size=12)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXTS,
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=12,
)
OBJECTS = st.dictionaries(TEXTS, VALUES, max_size=5)
PROPERTY = settings(max_examples=300, deadline=None, database=None)


def same(left, right):
    """Equal, and of the same types, and of the same sign of zero."""
    return repr(left) == repr(right)


# Reading.


@PROPERTY
@given(OBJECTS, st.booleans())
@example(
    {"n": 10**40, "m": -(2**63) - 1, "z": -0.0, "e": 5e-324, "b": 1.7976931348623157e308}, True
)
def test_what_the_standard_library_writes_is_read_back(value, ascii_only):
    """Reading gives exactly what was written, escaped or not."""
    text = json.dumps(value, ensure_ascii=ascii_only)
    try:
        line = text.encode()
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8 form, only an escape
        line = json.dumps(value).encode()
    # Two escapes side by side may form a pair, which is one character.
    assert same(decode(line), json.loads(line))


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b"12",
        b'"text"',
        b"[1, 2]",
        b"not json",
        b"{",
        b'{"a": 1',
        b'{"a": 1} trailing',
        b'{"a": 1}{"b": 2}',
        b'{"a": 1,}',
        b"{'a': 1}",
        b"{1: 2}",
        b"\xff\xfe",
        b"Warning: something {braces}",
    ],
)
def test_what_is_not_an_object_is_noise(line):
    """Anything but one JSON object gives None, and never raises."""
    assert decode(line) is None


def test_bytes_that_are_not_text_are_replaced():
    """A broken UTF-8 sequence costs one character, not the message."""
    assert decode(b'{"type":"user","text":"a\xffb"}') == {"type": "user", "text": "a\ufffdb"}
    assert decode(b'{"text":"\xe2\x82"}') == {"text": "\ufffd"}


def test_lone_surrogates_are_read():
    """An escaped half of a pair is kept as it is."""
    assert decode(rb'{"a":"\ud800","b":"\udc00x"}') == {"a": "\ud800", "b": "\udc00x"}


def test_control_characters_in_texts_are_read():
    """Characters that should have been escaped, NUL included, are kept."""
    assert decode(b'{"a":"x\ty\x01z\x00"}') == {"a": "x\ty\x01z\x00"}


def test_numbers_that_json_does_not_have_are_read():
    """NaN and the infinities are floats."""
    value = decode(b'{"a":NaN,"b":Infinity,"c":-Infinity}')
    assert math.isnan(value["a"])
    assert (value["b"], value["c"]) == (math.inf, -math.inf)


def test_of_duplicate_keys_the_last_counts():
    """A key given twice has its last value, as in JavaScript."""
    assert decode(b'{"a":1,"a":2}') == {"a": 2}


def test_integers_keep_every_digit():
    """Numbers beyond 64 bits are exact."""
    assert decode(b'{"a":123456789012345678901234567890}') == {"a": 123456789012345678901234567890}


def test_an_integer_of_absurd_length_does_not_lose_the_message():
    """Beyond what Python converts, a number is infinite, and the rest is read."""
    assert decode(b'{"a":' + b"9" * 6000 + b',"b":1}') == {"a": math.inf, "b": 1}


def test_nesting_of_absurd_depth_is_noise():
    """A line too deep for any parser gives None instead of exhausting the stack."""
    assert decode(b'{"a":' + b"[" * 200000 + b"]" * 200000 + b"}") is None


def test_ordinary_lines_are_left_to_the_fast_parser(monkeypatch):
    """The standard library's parser sees only what the fast one refused."""
    seen = []
    monkeypatch.setattr(codec, "decode_carefully", seen.append)
    assert decode('{"a":[1,2.5,"é\\n",null,true,{"b":""}]}'.encode()) is not None
    assert seen == []
    decode(b"noise")
    assert seen == [b"noise"]


@pytest.mark.parametrize("text", ["x" * codec.LONG, "é\n" * codec.LONG, "\ud800" * codec.LONG])
def test_a_long_line_reads_as_a_short_one_does(text):
    """Which parser reads a line makes no difference to what is read."""
    line = json.dumps({"a": [text, 1, 2.5, None, True]}).encode()
    assert len(line) > codec.LONG
    assert decode(line) == {"a": [text, 1, 2.5, None, True]}
    assert decode(b"x" + line) is None


@PROPERTY
@given(st.binary(max_size=40))
def test_no_bytes_make_reading_fail(line):
    """Whatever arrives, the answer is an object or None."""
    value = decode(line)
    assert value is None or isinstance(value, dict)


# Writing.


@PROPERTY
@given(OBJECTS)
def test_what_is_written_reads_the_same(value):
    """One line of ASCII that any JSON parser reads back exactly."""
    line = encode(value)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert b"\r" not in line
    assert line.strip()
    assert same(json.loads(line), json.loads(json.dumps(value)))
    assert same(decode(line), json.loads(line))


def test_an_empty_object_is_not_a_blank_line():
    """Even an empty message is visible: a blank line ends some CLIs."""
    assert encode({}) == b"{}\n"


def test_slashes_and_markup_are_not_escaped():
    """Paths and tags are written as they are."""
    assert encode({"path": "a/b", "tag": "<x>&"}) == b'{"path":"a/b","tag":"<x>&"}\n'


def test_a_lone_surrogate_travels_as_its_escape():
    """Half a pair, as in the name of an undecodable file, is sent and survives."""
    assert encode({"name": "\udcff.txt"}) == b'{"name":"\\udcff.txt"}\n'


def test_what_ends_lines_elsewhere_is_escaped():
    """Line ends and Unicode line separators never appear as such."""
    assert encode({"a": "x\ny\r\u2028"}) == b'{"a":"x\\ny\\r\\u2028"}\n'


def test_tuples_and_other_mappings_are_sent():
    """A tuple is a list, any mapping is an object, at any depth."""
    value = types.MappingProxyType({"a": (1, collections.UserDict(b=collections.OrderedDict(c=2)))})
    assert encode(value) == b'{"a":[1,{"b":{"c":2}}]}\n'


def test_texts_and_numbers_of_other_classes_are_sent_by_value():
    """Enumerations and subclasses of str are their values."""

    class Color(str, enum.Enum):
        RED = "red"

    class Level(enum.IntEnum):
        HIGH = 3

    assert encode({"a": Color.RED, "b": Level.HIGH, Color.RED: True}) == (
        b'{"a":"red","b":3,"red":true}\n'
    )


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ({"message": {"content": [{"data": b"\x89PNG"}]}}, ["message.content[0].data", "bytes"]),
        ({"a": {1, 2}}, ["in a:", "set has no JSON form"]),
        ({"a": object}, ["in a:", "type has no JSON form"]),
        ({1: 2}, ["1 in the message", "keys must be str"]),
        ({"a": [{None: 2}]}, ["None in a[0]", "keys must be str"]),
        ({"cost": math.nan}, ["nan in cost"]),
        ({"cost": [math.inf]}, ["inf in cost[0]"]),
        ({"cost": -math.inf}, ["-inf in cost"]),
        ([1], ["a message is a dict"]),
        ({"n": 10**5000}, ["digits"]),
    ],
)
def test_what_has_no_json_form_is_named(value, names):
    """The error says which value is wrong and where it is."""
    with pytest.raises(UsageError) as caught:
        encode(value)
    for name in names:
        assert name in str(caught.value)


def test_hooks_for_serialisation_are_not_called():
    """An object cannot smuggle text of its own, such as a line end, into the line."""

    class Smuggler:
        def __json__(self):
            return '"a\n"'

        def toDict(self):  # noqa: N802
            return {}

    with pytest.raises(UsageError, match="Smuggler has no JSON form"):
        encode({"a": Smuggler()})


def test_a_value_that_holds_itself_is_refused():
    """Endless nesting ends with an error that says so."""
    loop = {}
    loop["again"] = loop
    with pytest.raises(UsageError, match="holds itself") as caught:
        encode(loop)
    assert len(str(caught.value)) < 400
    row = []
    row.append(row)
    with pytest.raises(UsageError, match="holds itself"):
        encode({"row": row})


def test_deep_but_finite_values_are_sent():
    """The limit on nesting is far from anything in use."""
    value = {"end": True}
    for _ in range(DEEPEST - 1):
        value = {"in": value}
    assert json.loads(encode(value)) == value


def test_a_long_value_is_shortened_in_the_error():
    """The text of the error stays readable whatever the value."""
    with pytest.raises(UsageError) as caught:
        encode({"data": b"x" * 10000})
    assert len(str(caught.value)) < 300


def test_a_question_is_the_same_line_however_it_is_made():
    """The quick way for plain texts says what the general one does."""
    for prompt in ("hi", 'quo"te \\ \n \u2028 \ud800 é / end', [{"type": "text", "text": "x"}]):
        message = user_message(prompt)
        line = codec.encode_question(message, "some-uuid")
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
        assert json.loads(line) == {**message, "uuid": "some-uuid"}
    context = {**user_message("x"), "shouldQuery": False}
    assert json.loads(codec.encode_question(context, "u")) == {**context, "uuid": "u"}
