# SPDX-License-Identifier: Apache-2.0
"""
Small faults of one C file, all planted at once and each behind a switch.

plant() gives the text with every fault in it: mutant_is(N) is true for the one
that PINFOLD_MUTANT names, so a file is compiled once and a test program linked
once for all of them. No line moves, so a fault that does not compile is known
by the line of the compiler's message and left out.

Reads C as tokens, in the kernel style of this tree; it is not a parser. Faults:

  negate C              a condition of if, while, for or ?: is turned around
  drop operand A of &&  one side of && or || decides alone
  A < B -> A <= B       the border of a comparison moves, == becomes !=
  A + B -> A - B        and back; += and -= too
  0 -> 1, 1 -> 0        a number in an expression
  drop S                a call, an assignment or a continue does not happen
  return E -> 0         a function answers 0, or 1 where it always answers 0

Left out by rule: what a user never sees or another check finds (LEFT_ALONE),
initialisers of static data, labels, preprocessor lines.
"""
import re
from dataclasses import dataclass

# Logging is for people, assertions never fail, releasing memory and descriptors is
# judged by the sanitizers' build, and crash points are for tests/guest/crash alone.
LEFT_ALONE = re.compile(
    r'(log_\w+|assert\w*|_Static_assert|static_assert|va_start|va_end|crash_point|free|close|closedir|'
    r'\w+_(free|fini|unref|freep|close|close_unref))$')

TOKEN = re.compile(r'''
    (?P<space>[ \t\n\\]+|//[^\n]*|/\*.*?\*/)
  | (?P<directive>^[ \t]*\#(?:[^\n\\]|\\\n|\\.)*)
  | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
  | (?P<word>[A-Za-z_]\w*)
  | (?P<number>\.?\d[\w.]*)
  | (?P<sign><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
''', re.VERBOSE | re.DOTALL | re.MULTILINE)

OPEN, CLOSE = '([{', ')]}'
ASSIGN = {'=', '+=', '-=', '*=', '/=', '%=', '&=', '|=', '^=', '<<=', '>>='}
# What ends an operand of && and ||, and what ends one of a comparison.
LOGICAL_ENDS = {'&&', '||', ',', '?', ':', ';', 'return'} | ASSIGN
COMPARE_ENDS = LOGICAL_ENDS | {'==', '!=', '&', '|', '^'}
RELATIONAL_ENDS = COMPARE_ENDS | {'<', '>', '<=', '>='}
MOVED = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '=='}
CONTROL = {'if', 'else', 'for', 'while', 'do', 'switch', 'case', 'default', 'return', 'goto', 'break',
           'continue', 'sizeof'}
KEYWORDS = CONTROL | {'struct', 'union', 'enum', 'static', 'const', 'unsigned', 'signed', 'int', 'char',
                      'long', 'short', 'bool', 'double', 'void', 'extern', 'typedef', 'typeof'}


@dataclass
class Token:
    kind: str
    text: str
    start: int
    line: int
    partner: int = -1   # index of the bracket that belongs to this one

    @property
    def end(self):
        return self.start + len(self.text)


@dataclass
class Fault:
    number: int
    function: str
    text: str           # what was done, in one line
    line: int
    edits: list         # (position, inserted text); an insertion never replaces


def tokens_of(source):
    tokens, line = [], 1
    for match in TOKEN.finditer(source):
        kind, text = match.lastgroup, match.group()
        if kind not in ('space', 'directive'):
            tokens.append(Token(kind, text, match.start(), line))
        line += text.count('\n')
    stack = []
    for index, token in enumerate(tokens):
        if token.kind != 'sign':
            continue
        if token.text in OPEN:
            stack.append(index)
        elif token.text in CLOSE:
            token.partner = stack.pop()
            tokens[token.partner].partner = index
    return tokens


class Planter:
    def __init__(self, source):
        self.source = source
        self.tokens = tokens_of(source)
        self.faults = []
        self.function = ''
        self.seen = {}

    def text(self, first, last):
        """Tokens first to last as they stand, on one line."""
        return ' '.join(self.source[self.tokens[first].start:self.tokens[last].end].split())

    def add(self, at, what, *edits):
        key = (self.function, what)
        self.seen[key] = self.seen.get(key, 0) + 1
        if self.seen[key] > 1:
            what += f' (number {self.seen[key]})'
        number = len(self.faults) + 1
        edits = [(position, text.replace('@', f'mutant_is({number})')) for position, text in edits]
        self.faults.append(Fault(number, self.function, what, self.tokens[at].line, edits))

    def around(self, first, last, before, after):
        return (self.tokens[first].start, before), (self.tokens[last].end, after)

    def edge(self, index, step, ends):
        """The last token of the operand beside the operator at index."""
        index += step
        while True:
            token = self.tokens[index]
            stop = CLOSE if step > 0 else OPEN
            if token.text in ends or token.kind == 'sign' and token.text in stop + '{};':
                return index - step
            index = (token.partner if token.partner >= 0 else index) + step

    # --- kinds of faults ------------------------------------------------------------------------

    def negate(self, first, last):
        self.add(first, 'negate ' + self.text(first, last),
                 *self.around(first, last, '(@ ^ !!(', '))'))

    def logical(self, index):
        sign = self.tokens[index].text
        constant = '@ ||' if sign == '&&' else '!@ &&'
        for first, last in ((self.edge(index, -1, LOGICAL_ENDS), index - 1),
                            (index + 1, self.edge(index, 1, LOGICAL_ENDS))):
            # of a && b && c the middle one is an operand of both signs
            if first > index and self.tokens[last + 1].text == sign:
                continue
            self.add(first, f'drop operand {self.text(first, last)} of {sign}',
                     *self.around(first, last, f'({constant} (', '))'))

    def compare(self, index):
        sign = self.tokens[index].text
        ends = COMPARE_ENDS if sign in ('==', '!=') else RELATIONAL_ENDS
        first, last = self.edge(index, -1, ends), self.edge(index, 1, ends)
        left, right = self.text(first, index - 1), self.text(index + 1, last)
        # cannot stand twice: what is assigned within, or a whole operand that is a string
        self.add(index, f'{left} {sign} {right} -> {MOVED[sign]}',
                 (self.tokens[first].start, f'(@ ? ({left}) {MOVED[sign]} ({right}) : ('),
                 (self.tokens[last].end, '))'))

    def arithmetic(self, index):
        previous, following = self.tokens[index - 1], self.tokens[index + 1]
        binary = previous.kind in ('word', 'number') and previous.text not in KEYWORDS or \
            previous.text in (')', ']')
        if not binary or following.kind == 'text' or previous.kind == 'text':
            return
        sign = self.tokens[index].text
        first, last = index - 1, index + 1
        if previous.partner >= 0:
            first = previous.partner
        while self.tokens[last].kind == 'sign' and self.tokens[last].text in '(*&-':
            last = self.tokens[last].partner if self.tokens[last].text == '(' else last + 1
            if self.tokens[last].text == ')':
                break
        self.add(index, f'{self.text(first, last)} with {"-" if sign == "+" else "+"}',
                 (self.tokens[index].end, ' (@ ? -1 : 1) *'))

    def number(self, index):
        text = self.tokens[index].text
        if text not in ('0', '1'):
            return
        previous, following = self.tokens[index - 1].text, self.tokens[index + 1].text
        if previous in '{[' or previous == 'case' or following == '}' or \
                previous == 'return' and following == ';':
            return
        other = '1' if text == '0' else '0'
        context = self.text(max(index - 3, 0), min(index + 1, len(self.tokens) - 1))
        self.add(index, f'{text} -> {other} in {context}',
                 *self.around(index, index, f'(@ ? {other} : ', ')'))

    def declares(self, index):
        token, following = self.tokens[index], self.tokens[index + 1]
        if token.kind != 'word' or token.text in CONTROL:
            return False
        # the last one is a pointer to an array, such as uint64_t(*rows)[2], and no call
        return token.text in KEYWORDS or following.kind == 'word' or following.text == '*' or \
            token.text.endswith('_t') and following.text == '('

    def statement(self, first):
        """A call or an assignment that begins here, unless it is a declaration."""
        token = self.tokens[first]
        index = first
        if token.text == '(' and self.tokens[first + 1].text == 'void':
            index = token.partner + 1
        while self.tokens[index].text in ('*', '++', '--'):
            index += 1
        word, following = self.tokens[index], self.tokens[index + 1]
        if word.text == 'continue' and following.text == ';':
            self.add(first, 'drop continue', *self.around(first, index + 1, '{ if (!@) ', ' }'))
            return
        if word.kind != 'word' or word.text in KEYWORDS or LEFT_ALONE.match(word.text):
            return
        if self.declares(index):
            return
        if following.text == ':':
            return
        last = index
        while self.tokens[last].text not in ';{},':
            last = self.tokens[last].partner + 1 if self.tokens[last].text in OPEN else last + 1
        if self.tokens[last].text != ';':
            return      # a loop of ours, or a member of an initialiser
        self.add(first, 'drop ' + self.text(first, last),
                 *self.around(first, last, '{ if (!@) { ', ' } }'))
        for i in range(index, last):
            if self.tokens[i].text in ('+=', '-='):
                other = '-=' if self.tokens[i].text == '+=' else '+='
                left, right = self.text(first, i - 1), self.text(i + 1, last - 1)
                self.add(first, f'{left} {self.tokens[i].text} {right} with {other}',
                         (token.start, f'{{ if (@) {left} {other} {right}; else '),
                         (self.tokens[last].end, ' }'))

    def answer(self, index):
        first, last = index + 1, index + 1
        while self.tokens[last].text != ';':
            last = self.tokens[last].partner + 1 if self.tokens[last].text in OPEN else last + 1
        last -= 1
        if last < first or self.tokens[first].text in ('NULL', 'log_err', 'failure', 'answer_error'):
            return
        text = self.text(first, last)
        other = '1' if text in ('0', 'false') else '0'
        self.add(index, f'return {text} -> {other}',
                 *self.around(first, last, f'@ ? {other} : (', ')'))

    # --- where they are -------------------------------------------------------------------------

    def conditions(self, index):
        """The condition of if, while or for at index; tokens first and last."""
        opening = index + 1
        closing = self.tokens[opening].partner
        first, last = opening + 1, closing - 1
        if self.tokens[index].text == 'for':
            semicolons = []
            i = first
            while i <= last:
                if self.tokens[i].text == ';':
                    semicolons.append(i)
                i = (self.tokens[i].partner if self.tokens[i].text in OPEN else i) + 1
            if len(semicolons) != 2:
                return
            first, last = semicolons[0] + 1, semicolons[1] - 1
        if first <= last:
            self.negate(first, last)

    def body(self, first, last):
        tokens = self.tokens
        index = first
        begins = True       # a statement begins at index
        head_end = first    # of the for whose three parts we are in
        declares = False    # the statement is a declaration: sizes of arrays are constants
        while index < last:
            token = tokens[index]
            if token.text == 'for' and token.kind == 'word':
                head_end = tokens[index + 1].partner
            if token.text in ('static', '_Static_assert', 'enum') and begins and \
                    token.kind == 'word':
                while tokens[index].text != ';':
                    index = tokens[index].partner + 1 if tokens[index].text in OPEN else index + 1
                continue
            if token.text == 'case':
                while tokens[index].text != ':':
                    index += 1
                index += 1
                begins = True
                continue
            if token.kind == 'word' and LEFT_ALONE.match(token.text) and \
                    tokens[index + 1].text == '(':
                index = tokens[index + 1].partner + 1
                begins = False
                continue
            if begins and token.text not in ('{', '}', ';'):
                declares = self.declares(index)
                self.statement(index)
            if declares and token.text == '[' and \
                    (tokens[index - 2].kind == 'word' or tokens[index - 2].text in ',*'):
                index = token.partner
                continue
            self.one(index)
            begins = token.text in ('{', '}', ';', 'else', 'do') or \
                token.text == ')' and tokens[token.partner - 1].text in ('if', 'while', 'for') or \
                token.text == ':' and tokens[index - 1].text == 'default'
            if token.text == ')' and tokens[token.partner - 1].text == 'cpuset_for_each':
                begins = True
            begins = begins and index >= head_end
            index += 1

    def one(self, index):
        token = self.tokens[index]
        if token.kind == 'word' and token.text in ('if', 'while', 'for'):
            self.conditions(index)
        elif token.text == 'return':
            self.answer(index)
        # the condition of a ?: b is a value as well, which may be any number or a pointer
        elif token.text == '?' and self.tokens[index + 1].text != ':':
            self.negate(self.edge(index, -1, {',', '?', ':', ';', 'return'} | ASSIGN), index - 1)
        elif token.kind == 'number':
            self.number(index)
        elif token.kind != 'sign':
            return
        elif token.text in ('&&', '||'):
            self.logical(index)
        elif token.text in MOVED:
            self.compare(index)
        elif token.text in ('+', '-'):
            self.arithmetic(index)

    def find(self):
        tokens = self.tokens
        index = 0
        while index < len(tokens):
            token = tokens[index]
            if token.text == '{':
                previous = tokens[index - 1]
                if previous.text == ')':
                    self.function = tokens[previous.partner - 1].text
                    self.body(index + 1, token.partner)
                index = token.partner + 1
            else:
                index += 1
        return self.faults


SWITCH_DECLARED = 'static _Bool mutant_is(int number);\n#line 1 "{name}"\n'
# PINFOLD_MUTANT names the fault; PINFOLD_REACHED a file in which each one gets a byte when
# the code around it is executed, so that tests which never come there need not be run.
SWITCH = '''
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static int mutant_planted;
static unsigned char *mutant_reached;
__attribute__((constructor)) static void mutant_start(void)
{
	const char *number = getenv("PINFOLD_MUTANT"), *path = getenv("PINFOLD_REACHED");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;

	mutant_planted = number ? atoi(number) : 0;
	if (fd < 0)
		return;
	mutant_reached = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mutant_reached == MAP_FAILED)
		abort();
	close(fd);
}
static _Bool mutant_is(int number)
{
	if (mutant_reached)
		mutant_reached[number] = 1;
	return mutant_planted == number;
}
'''


def find_faults(source):
    return Planter(source).find()


def plant(source, name, faults):
    """The text of the file with these faults in it."""
    edits = []
    for order, fault in enumerate(faults):
        (start, before), *rest = fault.edits
        end, after = rest[0] if rest else (start, '')
        # Outer ones open first and close last; of two alike the first is the outer one.
        edits.append((start, 1, -end, order, before))
        if after:
            edits.append((end, 0, -start, -order, after))
    out, at = [], 0
    for position, _, _, _, text in sorted(edits):
        out.append(source[at:position])
        out.append(text)
        at = position
    out.append(source[at:])
    return SWITCH_DECLARED.format(name=name) + ''.join(out) + SWITCH
