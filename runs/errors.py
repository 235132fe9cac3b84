"""Errors that end a program with one line: the value seen, the place, the remedy; and of a misspelt name the nearest right one."""


class ConfigError(SystemExit):
    """A configuration that cannot be run; ends the program with the message."""


def nearest(word, names):
    """' Did you mean ZINC?' for the name that `word` was probably meant to be, or nothing."""
    found = similar(word, names)
    return f" Did you mean {found[0]}?" if found else ""


def similar(word, names):
    """The names that differ from `word` by few typing errors, one in three letters at most, the nearest first; then those that
    begin with it. Capitals, '_' and '-' do not count."""
    typed = letters(word)
    near = [name for name in by_distance(word, names) if distance(typed, letters(name)) <= len(typed) // 3]
    longer = [name for name in names if len(typed) > 2 and letters(name).startswith(typed) and name not in near]
    return near + longer


def by_distance(word, names):
    """All names, the nearest to `word` first."""
    return sorted(names, key=lambda name: distance(letters(word), letters(name)))


def letters(name):
    return name.lower().replace("_", "").replace("-", "")


def distance(a, b):
    """How many letters must be added, dropped, replaced or exchanged with the next one to make b of a."""
    before, row = [], list(range(len(b) + 1))  # of the last letter but one, of the last one
    for i, letter in enumerate(a):
        new = [i + 1]
        for j, other in enumerate(b):
            best = min(row[j + 1] + 1, new[j] + 1, row[j] + (letter != other))
            if i and j and letter == b[j - 1] and other == a[i - 1]:
                best = min(best, before[j - 1] + 1)
            new.append(best)
        before, row = row, new
    return row[-1]
