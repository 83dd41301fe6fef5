# SPDX-License-Identifier: Apache-2.0
"""
Renders the templates of docs/deploy/helm as helm does, where Debian has no helm: the part of Go's
text/template and of helm's functions that the chart uses. Whatever else it meets is an error, so
that the chart stays within that part. toYaml writes JSON, which is YAML.
"""
import hashlib
import json
import re
from functools import reduce

ACTION = re.compile(r"\{\{(- )?(.*?)( -)?\}\}", re.S)
WORD = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[()|]|[^\s()|]+)')


class TemplateError(Exception):
    pass


def indent(width, text):
    return "\n".join(" " * width + line for line in text.split("\n"))


def truth(value):
    return value not in (None, False, 0, "", [], {})


def merge(base, changes):
    if not isinstance(base, dict) or not isinstance(changes, dict):
        return changes
    return {key: merge(base.get(key, {}), changes[key]) if key in changes else base[key]
            for key in {**base, **changes}}


FUNCTIONS = {
    "dict": lambda *pairs: dict(zip(pairs[::2], pairs[1::2])),
    "mergeOverwrite": lambda *dicts: reduce(merge, dicts),
    "ternary": lambda yes, no, which: yes if which else no,
    "quote": lambda value: json.dumps(str(value)),
    "toYaml": json.dumps,
    "nindent": lambda width, text: "\n" + indent(width, text),
    "default": lambda other, value: value if truth(value) else other,
    "eq": lambda a, b: a == b,
    "and": lambda a, b: b if truth(a) else a,
    "sha256sum": lambda text: hashlib.sha256(text.encode()).hexdigest(),
}


def split(source):
    """Alternately texts and actions, with the white space that the actions' dashes remove."""
    parts, at, eats = [], 0, False
    for action in ACTION.finditer(source):
        text = source[at:action.start()]
        text = text.lstrip() if eats else text
        parts += [("text", text.rstrip() if action.group(1) else text), ("action", action.group(2).strip())]
        at, eats = action.end(), bool(action.group(3))
        comment = action.group(2).strip()
        if comment.startswith("/*") and comment.endswith("*/"):
            parts[-1] = ("text", "")
    text = source[at:]
    return parts + [("text", text.lstrip() if eats else text)]


class Renderer:
    def __init__(self, values, chart, release):
        self.root = {"Values": values, "Chart": chart, "Release": release}
        self.defined = {}

    def define(self, source):
        self.render(source)

    def render(self, source):
        parts = split(source)
        text, at = self.block(parts, 0, self.root, True)
        if at < len(parts):
            raise TemplateError(f"unexpected {parts[at][1]}")
        return text

    def block(self, parts, at, dot, live):
        """Up to the action that ends the block, whose index is returned too."""
        out = []
        while at < len(parts):
            kind, what = parts[at]
            word = what.split(None, 1)[0] if kind == "action" and what else ""
            if kind == "text":
                out.append(what)
            elif word in ("end", "else"):
                break
            elif word in ("if", "with"):
                text, at = self.choose(parts, at, dot, live)
                out.append(text)
            elif word == "define":
                name = json.loads(what.split(None, 1)[1])
                begin = at + 1
                _, at = self.block(parts, begin, dot, False)
                self.defined[name] = parts[begin:at]
            else:
                out.append(self.text_of(what, dot) if live else "")
            at += 1
        return "".join(out) if live else "", at

    def choose(self, parts, at, dot, live):
        """if or with, and all its branches: the text of the one that is taken, and the end's index."""
        taken, result = False, ""
        word, condition = parts[at][1].split(None, 1)
        while True:
            value = self.value_of(condition, dot) if condition and live and not taken else None
            takes = live and not taken and (word == "else" or truth(value))
            inner, at = self.block(parts, at + 1, value if word == "with" else dot, takes)
            if takes:
                taken, result = True, inner
            if at >= len(parts):
                raise TemplateError("a block has no end")
            if parts[at][1] == "end":
                return result, at
            rest = parts[at][1].split(None, 2)[1:]
            word, condition = ("if", rest[1]) if rest else ("else", "")
            if rest and rest[0] != "if":
                raise TemplateError(f"unexpected {parts[at][1]}")

    def text_of(self, expression, dot):
        value = self.value_of(expression, dot)
        if isinstance(value, (dict, list, bool)) or value is None:
            raise TemplateError(f"{expression} is not a text: {value!r}")
        return str(value)

    def value_of(self, expression, dot):
        words = WORD.findall(expression)
        value, rest = self.pipeline(words, dot)
        if rest:
            raise TemplateError(f"unexpected {rest[0]} in {expression}")
        return value

    def pipeline(self, words, dot):
        value, words = self.command(words, dot, [])
        while words and words[0] == "|":
            value, words = self.command(words[1:], dot, [value])
        return value, words

    def command(self, words, dot, last):
        terms = []
        name = words[0] if words else ""
        is_call = name == "include" or name in FUNCTIONS
        words = words[1:] if is_call else words
        while words and words[0] not in ("|", ")"):
            value, words = self.term(words, dot)
            terms.append(value)
        terms += last
        if name == "include":
            return self.block(self.defined[terms[0]], 0, terms[1], True)[0], words
        if is_call:
            return FUNCTIONS[name](*terms), words
        if len(terms) != 1:
            raise TemplateError(f"unknown function or too many words: {name}")
        return terms[0], words

    def term(self, words, dot):
        word = words[0]
        if word == "(":
            value, rest = self.pipeline(words[1:], dot)
            if not rest or rest[0] != ")":
                raise TemplateError("a parenthesis is not closed")
            return value, rest[1:]
        if word.startswith('"'):
            return json.loads(word), words[1:]
        if word.isdigit() or word in ("true", "false"):
            return json.loads(word), words[1:]
        if not word.startswith("."):
            raise TemplateError(f"unknown word {word}")
        value = dot
        for key in word[1:].split(".") if word != "." else ():
            if not isinstance(value, dict) or key not in value:
                raise TemplateError(f"{word} does not exist")
            value = value[key]
        return value, words[1:]
