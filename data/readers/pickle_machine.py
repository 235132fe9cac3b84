"""A small interpreter of pickles, for files that are not trusted: it makes plain data and runs nothing of the file.

A pickle is a program for a machine with a stack. This machine knows the opcodes of OPCODES and no other. A name in the file,
such as numpy.dtype, becomes a Mark, an inert text; calling it runs a function of our own from `names`, and a name that is not
there is an error. `plain` checks the product: numbers, texts, bytes, lists, tuples, dictionaries, sets and arrays, no deeper
than DEPTH, no larger than a limit if everything that is shared is counted as often as it is used.
"""

import codecs
import contextlib
import struct
from typing import NamedTuple

import numpy as np

OBJECT = 128  # bytes that one opcode is counted as; an empty list has 56, an entry of the memo about 100
DEPTH = 64  # of containers in containers
LONGEST_NUMBER = 64  # bytes of an integer
SHOWN = 80  # characters of a text from the file that an error message repeats


class UnpickleError(ValueError):
    """A pickle is damaged, or holds something else than plain data."""


class Mark:
    """A name of a library in the file: only its text."""

    __match_args__ = __slots__ = ("name",)

    def __init__(self, name):
        self.name = name


class Buildable:
    """What BUILD may change: it is made by REDUCE or NEWOBJ without its content."""

    __slots__ = ()
    is_small = False  # it may stay in the memo of a list that is read item by item

    def build(self, machine, state):
        """What stands in its place from now on."""
        raise UnpickleError(f"{shown(self)} takes no state")

    def value(self):
        """What a reference to it means."""
        return self


class Object(dict, Buildable):
    """An object of a class that is not loaded, as the dictionary of its state."""

    __slots__ = ("name",)

    def __init__(self, name):
        super().__init__()
        self.name = name

    def build(self, machine, state):
        if type(state) is not dict:
            raise UnpickleError(f"the state of {self.name} is of type {shown(state)}, expected a dictionary")
        self.update((key, value) for key, value in state.items() if key != "_parent")  # its owner: it would be a circle
        return self


def shown(value):
    """A value of the file for an error message: one short line whatever it is."""
    text = value.name if isinstance(value, Mark | Object) else value if isinstance(value, str) else type(value).__name__
    return text if text.isprintable() and len(text) <= SHOWN else f"{text[:SHOWN]!r}…"


class Machine:
    """The state of the interpreter while one pickle is read.

    `file` is read with read(n) and readline(n) from where it stands; `names` are the known names and what a call of them does:
    a function of the machine and the arguments, or None if it may be named and not called; `limit` is a number of bytes for all
    that is made; `persistent` gives the object that a persistent id stands for.
    """

    def __init__(self, file, names, limit, persistent=None):
        self.file, self.names, self.left, self.persistent = file, names, limit, persistent
        self.stack, self.outer, self.memo, self.forgotten = [], [], {}, 0

    def run(self):
        """What is on the stack at the end of the pickle, as it is: see `plain`."""
        with faults():
            while (code := self.file.read(1)) != b".":
                self.step(code)
            return self.stack.pop()

    def items(self):
        """The items of the list that the pickle makes, one after the other, as they are; the list itself is never all there.

        `limit` holds for what is kept at once. An item that refers to an earlier one is an error.
        """
        limit = self.left
        with faults():
            while (code := self.file.read(1)) != b".":
                self.step(code)
                if code in (b"a", b"e") and not self.outer and len(self.stack) == 1:
                    found = self.stack[0]
                    yield from found.copy()
                    found.clear()
                    self.forget()
                    self.left = limit - OBJECT * len(self.memo)
            if type(self.stack.pop()) is not list:
                raise UnpickleError("it is no list")

    def step(self, code):
        operation = OPCODES.get(code)
        if operation is None:
            raise UnpickleError(f"opcode {code!r} is not one of plain data" if code else "it is cut off")
        self.charge(OBJECT)
        operation(self)

    def forget(self):
        """Drop from the memo what is not small: names, array types and short texts stay, to which later items refer."""
        kept = {index: value for index, value in self.memo.items() if is_small(value)}
        self.forgotten += len(self.memo) - len(kept)
        self.memo = kept

    def charge(self, n_bytes):
        """Count what is about to be made."""
        self.left -= n_bytes
        if self.left < 0:
            raise UnpickleError("it makes more data than its limit allows")

    def read(self, n):
        if n < 0:
            raise UnpickleError(f"{n} bytes are to follow")
        self.charge(n)
        content = self.file.read(n)
        if len(content) != n:
            raise UnpickleError("it is cut off")
        return content

    def read_line(self):
        line = self.file.readline(self.left)
        self.charge(len(line))
        if line[-1:] != b"\n":
            raise UnpickleError("it is cut off")
        return line[:-1]

    def pop_to_mark(self):
        """The items since the last MARK, which are no longer on the stack."""
        items, self.stack = self.stack, self.outer.pop()
        return items

    def push_mark(self, name):
        if name not in self.names:
            raise UnpickleError(
                f"it holds {shown(name)}, which is neither a number, a text, an array nor a tensor of numbers"
            )
        self.stack.append(Mark(name))


def is_small(value):
    """Whether a value stays in the memo of a list that is read item by item."""
    if isinstance(value, Buildable):
        return value.is_small
    return type(value) is Mark or (type(value) in TEXTS and len(value) <= SHOWN)


@contextlib.contextmanager
def faults():
    """Makes what goes wrong in a damaged pickle an UnpickleError."""
    try:
        yield
    except IndexError as error:
        raise UnpickleError("it takes more from the stack than there is") from error
    except (OverflowError, MemoryError) as error:
        raise UnpickleError(f"it makes a value that is too large ({type(error).__name__})") from error
    except UnpickleError:
        raise
    except ValueError as error:  # of a number or a text
        raise UnpickleError(f"it is damaged ({shown(str(error))})") from error


# --------------------------------------------------------------------------------------------------------------------
# What opcodes do. A function of the machine, or one that returns such a function.


def push(value):
    return lambda machine: machine.stack.append(value)


def push_new(kind):
    """An empty container."""
    return lambda machine: machine.stack.append(kind())


def push_number(form):
    """The number that follows, in the form of the module struct."""
    number = struct.Struct(form)
    return lambda machine: machine.stack.append(number.unpack(machine.read(number.size))[0])


def push_content(length_form, convert):
    """convert(content) is pushed, where the length of the content and the content follow."""
    length = struct.Struct(length_form)
    return lambda machine: machine.stack.append(convert(machine.read(*length.unpack(machine.read(length.size)))))


def push_line(convert):
    """convert(line) is pushed, of the line that follows."""
    return lambda machine: machine.stack.append(convert(machine.read_line()))


def integer(content):
    if len(content) > LONGEST_NUMBER:
        raise UnpickleError(f"an integer of {len(content)} bytes, expected at most {LONGEST_NUMBER}")
    return int.from_bytes(content, "little", signed=True)


def integer_line(line):
    if len(line) > 2 * LONGEST_NUMBER:
        raise UnpickleError(f"an integer of {len(line)} digits, expected at most {2 * LONGEST_NUMBER}")
    return {b"00": False, b"01": True}.get(line, int(line.removesuffix(b"L")))


def text(content):
    return content.decode("utf-8")


def text_line(line):
    return text(line.decode("raw-unicode-escape").encode("utf-8"))  # halves of a character are refused


def string(content):
    """A string of Python 2: a text if it is ASCII, else bytes."""
    return content.decode("ascii") if content.isascii() else content


def string_line(line):
    if len(line) < 2 or line[:1] not in b"'\"" or line[:1] != line[-1:]:
        raise UnpickleError("a string without quotes")
    return string(codecs.escape_decode(line[1:-1])[0])


def begin_items(machine):
    machine.outer.append(machine.stack)
    machine.stack = []


def pop(machine):
    """Without items since the last MARK, POP takes the MARK itself."""
    if machine.stack:
        machine.stack.pop()
    else:
        machine.pop_to_mark()


def push_items(make):
    """make(items) is pushed, of the items since the last MARK."""

    def operation(machine):
        items = machine.pop_to_mark()
        machine.stack.append(make(items))

    return operation


def push_tuple(n):
    """The last n values become a tuple."""

    def operation(machine):
        if len(machine.stack) < n:
            raise IndexError
        machine.stack[-n:] = [tuple(machine.stack[-n:])]

    return operation


def append(machine):
    item = machine.stack.pop()
    add_to_list(machine.stack[-1], [item])


def append_items(machine):
    items = machine.pop_to_mark()
    add_to_list(machine.stack[-1], items)


def add_to_list(target, items):
    if type(target) is not list:
        raise UnpickleError(f"items are appended to {shown(target)}, not to a list")
    target.extend(items)


def set_item(machine):
    value, key = machine.stack.pop(), machine.stack.pop()
    add_to_dict(machine.stack[-1], [key, value])


def set_items(machine):
    items = machine.pop_to_mark()
    add_to_dict(machine.stack[-1], items)


def add_to_dict(target, items):
    if type(target) is not dict:
        raise UnpickleError(f"keys are set in {shown(target)}, not in a dictionary")
    if len(items) % 2:
        raise UnpickleError("a key without a value")
    target.update(zip(map(checked_key, items[::2]), items[1::2], strict=True))
    return target


def checked_key(key):
    """Keys are texts and numbers. Deep tuples can crash the hash function, chosen large numbers make it collide."""
    if type(key) not in KEYS or (type(key) is int and key.bit_length() > 64):
        raise UnpickleError(f"{shown(key)} as a key or an item of a set, expected a text or a number")
    return key


def make_set(items):
    return set(map(checked_key, items))


def add_items(machine):
    items = machine.pop_to_mark()
    if type(machine.stack[-1]) is not set:
        raise UnpickleError(f"items are added to {shown(machine.stack[-1])}, not to a set")
    machine.stack[-1].update(make_set(items))


def remember(read_index):
    """The last value is kept under the index that follows."""

    def operation(machine):
        index = read_index(machine)
        if not 0 <= index < 1 << 32:
            raise UnpickleError(f"{index} as an index of the memo")
        machine.memo[index] = machine.stack[-1]

    return operation


def recall(read_index):
    """The value kept under the index that follows is pushed."""

    def operation(machine):
        index = read_index(machine)
        if index not in machine.memo:
            raise UnpickleError(f"{index} is not in the memo")
        value = machine.memo[index]
        machine.stack.append(value.value() if isinstance(value, Buildable) else value)

    return operation


def index_in(form):
    number = struct.Struct(form)
    return lambda machine: number.unpack(machine.read(number.size))[0]


def index_line(machine):
    return integer_line(machine.read_line())


def next_index(machine):
    return len(machine.memo) + machine.forgotten


def name_lines(machine):
    module, name = machine.read_line(), machine.read_line()
    machine.push_mark(f"{text(module)}.{text(name)}")


def name_on_stack(machine):
    name, module = machine.stack.pop(), machine.stack.pop()
    if type(name) is not str or type(module) is not str:
        raise UnpickleError(f"the name of a class is of type {type(name).__name__}, its module {type(module).__name__}")
    machine.push_mark(f"{module}.{name}")


def call(machine):
    """Of a function (REDUCE) or a class (NEWOBJ): our own function of that name is run."""
    arguments, mark = machine.stack.pop(), machine.stack.pop()
    if type(mark) is not Mark or machine.names[mark.name] is None or type(arguments) is not tuple:
        raise UnpickleError(f"it calls {shown(mark)} with {shown(arguments)}")
    machine.stack.append(machine.names[mark.name](machine, arguments))


def build(machine):
    """The state on the stack completes what is below it, if that is ours."""
    state = machine.stack.pop()
    if not isinstance(machine.stack[-1], Buildable):
        raise UnpickleError(f"it changes the state of {shown(machine.stack[-1])}")
    machine.stack[-1] = machine.stack[-1].build(machine, state)


def persistent_id(machine, identifier):
    if machine.persistent is None:
        raise UnpickleError(f"it refers to {shown(identifier)} of another file")
    machine.stack.append(machine.persistent(machine, identifier))


def ignore(n):
    """n bytes that say nothing about the content: PROTO, FRAME."""
    return lambda machine: machine.read(n)


OPCODES = {
    b"\x80": ignore(1),  # PROTO
    b"\x95": ignore(8),  # FRAME
    # numbers
    b"N": push(None),
    b"\x88": push(True),
    b"\x89": push(False),
    b"K": push_number("<B"),  # BININT1
    b"M": push_number("<H"),  # BININT2
    b"J": push_number("<i"),  # BININT
    b"G": push_number(">d"),  # BINFLOAT
    b"\x8a": push_content("<B", integer),  # LONG1
    b"\x8b": push_content("<i", integer),  # LONG4
    b"I": push_line(integer_line),  # INT
    b"L": push_line(integer_line),  # LONG
    b"F": push_line(float),  # FLOAT
    # texts and bytes
    b"\x8c": push_content("<B", text),  # SHORT_BINUNICODE
    b"X": push_content("<I", text),  # BINUNICODE
    b"\x8d": push_content("<Q", text),  # BINUNICODE8
    b"V": push_line(text_line),  # UNICODE
    b"U": push_content("<B", string),  # SHORT_BINSTRING
    b"T": push_content("<i", string),  # BINSTRING
    b"S": push_line(string_line),  # STRING
    b"C": push_content("<B", bytes),  # SHORT_BINBYTES
    b"B": push_content("<I", bytes),  # BINBYTES
    b"\x8e": push_content("<Q", bytes),  # BINBYTES8
    b"\x96": push_content("<Q", bytes),  # BYTEARRAY8
    # containers
    b"(": begin_items,  # MARK
    b"0": pop,
    b"1": Machine.pop_to_mark,  # POP_MARK
    b")": push(()),
    b"\x85": push_tuple(1),
    b"\x86": push_tuple(2),
    b"\x87": push_tuple(3),
    b"t": push_items(tuple),
    b"]": push_new(list),
    b"l": push_items(list),
    b"a": append,
    b"e": append_items,
    b"}": push_new(dict),
    b"d": push_items(lambda items: add_to_dict({}, items)),
    b"s": set_item,
    b"u": set_items,
    b"\x8f": push_new(set),
    b"\x90": add_items,
    b"\x91": push_items(make_set),  # FROZENSET
    # the memo
    b"q": remember(index_in("<B")),  # BINPUT
    b"r": remember(index_in("<I")),  # LONG_BINPUT
    b"p": remember(index_line),  # PUT
    b"\x94": remember(next_index),  # MEMOIZE
    b"h": recall(index_in("<B")),  # BINGET
    b"j": recall(index_in("<I")),  # LONG_BINGET
    b"g": recall(index_line),  # GET
    # names, and what is made with them
    b"c": name_lines,  # GLOBAL
    b"\x93": name_on_stack,  # STACK_GLOBAL
    b"R": call,  # REDUCE
    b"\x81": call,  # NEWOBJ
    b"b": build,
    b"P": lambda machine: persistent_id(machine, text(machine.read_line())),
    b"Q": lambda machine: persistent_id(machine, machine.stack.pop()),  # BINPERSID
}

# --------------------------------------------------------------------------------------------------------------------
# What may leave the machine

NUMBERS = {int, float, complex, bool, type(None)}
TEXTS = {str, bytes}
CONTAINERS = {list, tuple, dict, set, Object}
KEYS = {int, float, bool, type(None), str, bytes}


class Weight(NamedTuple):
    """Of a value: bytes if nothing in it were shared, and how deep its containers are."""

    size: int
    depth: int


def plain(value, limit):
    """The value itself, if it is plain data within the limit of bytes."""
    if weigh(value, {}, DEPTH).size > limit:
        raise UnpickleError("it makes more data than its limit allows, counting what is shared as often as it is used")
    return value


def weigh(value, known, levels):
    """The weight of a value of at most `levels` levels. `known`: that of each container seen, None while it is not done."""
    kind = type(value)
    if kind in NUMBERS:
        return Weight(OBJECT, 0)
    if kind in TEXTS:
        return Weight(OBJECT + len(value), 0)
    if kind is np.ndarray:
        return Weight(OBJECT + value.nbytes, 0)
    if kind not in CONTAINERS:
        raise UnpickleError(f"it holds {shown(value)}, which is not plain data")
    if id(value) not in known:
        known[id(value)] = None
        known[id(value)] = weigh_container(value, known, levels)
    weight = known[id(value)]
    if weight is None:
        raise UnpickleError("it holds a container that contains itself")
    if weight.depth > levels:
        raise UnpickleError(f"it is nested more than {DEPTH} levels deep")
    return weight


def weigh_container(value, known, levels):
    if not levels:
        raise UnpickleError(f"it is nested more than {DEPTH} levels deep")
    size, depth = OBJECT * (1 + isinstance(value, dict) * len(value)), 0
    for item in value.values() if isinstance(value, dict) else value:  # keys are not copied
        if type(item) in NUMBERS:
            size += OBJECT
        else:
            inner = weigh(item, known, levels - 1)
            size, depth = size + inner.size, max(depth, inner.depth)
    return Weight(size, depth + 1)
