/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the text of a write to a cgroup's file says: numbers or "max", a list of CPUs or memory nodes, one
 * controller to disable. Only the forms that systemd writes are understood; any other text is one that
 * may change something. Uses no map, so it is tested without a kernel.
 *
 * What has a loop, or is in one, is a global function, as those in policy.bpf.h: the verifier goes through
 * it once, and not for each state that a caller is in. Its state must be in a map: what is on the stack
 * the verifier of 6.1 takes for known, and leaves out branches.
 */
#ifndef VALUE_TEXT_BPF_H
#define VALUE_TEXT_BPF_H

#define TEXT_WORDS 12

/* What is written, without the line feed at its end. */
struct written_text {
	__u64 words[TEXT_WORDS]; /* NUL-padded */
};

#define TEXT_BYTES sizeof(struct written_text)

#define VALUE_MAX  (~0ULL) /* "max" */
#define DIGITS_MAX 18	   /* no number of these overflows */

/* A text, and how far it has been read. */
struct text_parse {
	struct written_text text;
	__u64 number; /* the one that is being read */
	__u32 digits, letters;
	__u32 nr;	 /* complete words or ranges */
	__u8 ended, bad; /* at its end; it is of another form */
	__u8 has_first;	 /* the range has a minus */
	__u8 reserved;
	__u64 values[2];   /* of words */
	__u64 first, last; /* of the range; `last` of the one before, until its end */
	__u64 bits;	   /* a bitmap in the kernel's memory, */
	__u32 nr_words;	   /* as long as this */
	__u32 nr_runs;
};

static __always_inline void begin_parse(struct text_parse *parse, __u64 bits, __u32 nr_words)
{
	parse->number = parse->first = parse->last = 0;
	parse->digits = parse->letters = parse->nr = parse->nr_runs = 0;
	parse->ended = parse->bad = parse->has_first = 0;
	parse->values[0] = parse->values[1] = 0;
	parse->bits = bits;
	parse->nr_words = nr_words;
}

static __always_inline bool is_digit(char character)
{
	return character >= '0' && character <= '9';
}

static __always_inline void add_digit(struct text_parse *parse, char digit)
{
	/* After a zero the kernel reads some numbers as octal ones. */
	if (parse->digits && !parse->number)
		parse->bad = 1;
	parse->number = parse->number * 10 + (__u64)(digit - '0');
	if (++parse->digits > DIGITS_MAX)
		parse->bad = 1;
}

/* --- words -------------------------------------------------------------------------------------- */

static __always_inline void end_word(struct text_parse *parse)
{
	__u64 value = parse->letters ? VALUE_MAX : parse->number;

	if (parse->letters ? parse->letters != 3 || parse->digits : !parse->digits)
		parse->bad = 1;
	if (parse->nr == 0)
		parse->values[0] = value;
	else if (parse->nr == 1)
		parse->values[1] = value;
	else
		parse->bad = 1;
	parse->nr++;
	parse->number = 0;
	parse->digits = parse->letters = 0;
}

static __always_inline bool continues_max(char character, __u32 letters)
{
	return (letters == 0 && character == 'm') || (letters == 1 && character == 'a') ||
	       (letters == 2 && character == 'x');
}

__noinline int parse_word_byte(struct text_parse *parse, __u32 i)
{
	char character;

	if (!parse || i >= TEXT_BYTES || parse->ended || parse->bad)
		return 0;
	character = ((const char *)&parse->text)[i];
	if (is_digit(character)) {
		add_digit(parse, character);
	} else if (continues_max(character, parse->letters)) {
		parse->letters++;
	} else if (character == ' ' || !character) {
		end_word(parse);
		parse->ended = !character;
	} else {
		parse->bad = 1;
	}
	return 0;
}

/* One or two words with a blank between them, each a number or "max"? They are in `values` then. */
__noinline int parse_words(struct text_parse *parse)
{
	if (!parse)
		return false;
	begin_parse(parse, 0, 0);
	for (__u32 i = 0; i < TEXT_BYTES; i++)
		parse_word_byte(parse, i);
	return parse->ended && !parse->bad;
}

/* --- lists -------------------------------------------------------------------------------------- */

static __always_inline __u64 bitmap_word(const struct text_parse *parse, __u64 word)
{
	__u64 value = 0;

	if (word < parse->nr_words)
		bpf_probe_read_kernel(&value, sizeof(value),
				      (void *)(parse->bits + word * sizeof(value)));
	return value;
}

static __always_inline bool has_bit(const struct text_parse *parse, __u64 bit)
{
	return bitmap_word(parse, bit / 64) >> (bit % 64) & 1;
}

static __always_inline void end_range(struct text_parse *parse)
{
	__u64 before = parse->last, first = parse->has_first ? parse->first : parse->number;

	parse->last = parse->number;
	if (!parse->digits || parse->last < first || (parse->nr && first < before + 2) ||
	    !has_bit(parse, first) || !has_bit(parse, parse->last) ||
	    (first && has_bit(parse, first - 1)) || has_bit(parse, parse->last + 1))
		parse->bad = 1;
	parse->nr++;
	parse->number = 0;
	parse->digits = 0;
	parse->has_first = 0;
}

__noinline int parse_list_byte(struct text_parse *parse, __u32 i)
{
	char character;

	if (!parse || i >= TEXT_BYTES || parse->ended || parse->bad)
		return 0;
	character = ((const char *)&parse->text)[i];
	if (is_digit(character)) {
		add_digit(parse, character);
	} else if (character == '-' && parse->digits && !parse->has_first) {
		parse->first = parse->number;
		parse->has_first = 1;
		parse->number = 0;
		parse->digits = 0;
	} else if (character == ' ' || character == ',' || (!character && i)) {
		end_range(parse);
		parse->ended = !character;
	} else if (!character) {
		parse->ended = 1;
	} else {
		parse->bad = 1;
	}
	return 0;
}

__noinline int count_runs(struct text_parse *parse, __u32 word)
{
	__u64 starts;

	if (!parse)
		return 0;
	starts = bitmap_word(parse, word);
	starts &= ~(starts << 1 | (word ? bitmap_word(parse, word - 1) >> 63 : 0));
	/* BPF has no population count: add up adjacent bits in place */
	starts -= (starts >> 1) & 0x5555555555555555ULL;
	starts = (starts & 0x3333333333333333ULL) + ((starts >> 2) & 0x3333333333333333ULL);
	starts = (starts + (starts >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	parse->nr_runs += (starts * 0x0101010101010101ULL) >> 56;
	return 0;
}

/*
 * Does the text, which may be empty, list the bits that are set? Its ranges must be in ascending order
 * with a gap after each. If each begins and ends where a run of set bits does, and they are as many as
 * the runs, then they are the runs, and nothing between their ends has to be read.
 */
__noinline int lists_bits(struct text_parse *parse, __u64 bits, __u32 nr_words)
{
	if (!parse)
		return false;
	begin_parse(parse, bits, nr_words);
	for (__u32 i = 0; i < TEXT_BYTES; i++)
		parse_list_byte(parse, i);
	if (!parse->ended || parse->bad)
		return false;
	for (__u32 i = 0; i < ABI_MASK_WORDS_MAX; i++)
		count_runs(parse, i);
	return parse->nr == parse->nr_runs;
}

/* --- other texts --------------------------------------------------------------------------------- */

enum controller {
	CONTROLLER_CPUSET,
	CONTROLLER_CPU,
	CONTROLLER_IO,
	CONTROLLER_MEMORY,
	CONTROLLER_PIDS,
	CONTROLLER_NR,
};

/* Each is one word. */
static const char disabling[CONTROLLER_NR][sizeof(__u64)] = {
	[CONTROLLER_CPUSET] = "-cpuset", [CONTROLLER_CPU] = "-cpu",   [CONTROLLER_IO] = "-io",
	[CONTROLLER_MEMORY] = "-memory", [CONTROLLER_PIDS] = "-pids",
};

static __always_inline __u64 behind_first_word(const struct written_text *text)
{
	__u64 rest = 0;

	for (__u32 i = 1; i < TEXT_WORDS; i++)
		rest |= text->words[i];
	return rest;
}

static __always_inline bool is_empty(const struct written_text *text)
{
	return !(text->words[0] | behind_first_word(text));
}

static __always_inline bool is_character(const struct written_text *text, char character)
{
	const char *bytes = (const char *)text;

	return bytes[0] == character && !bytes[1];
}

__noinline int has_minus(const struct written_text *text)
{
	const char *bytes = (const char *)text;

	if (!text)
		return false;
	for (__u32 i = 0; i < TEXT_BYTES; i++)
		if (bytes[i] == '-')
			return true;
	return false;
}

/* The controller that the text disables, if it does nothing else; otherwise CONTROLLER_NR. */
static __always_inline __u32 disabled_controller(const struct written_text *text)
{
	if (behind_first_word(text))
		return CONTROLLER_NR;
	for (__u32 i = 0; i < CONTROLLER_NR; i++)
		if (text->words[0] == *(const __u64 *)disabling[i])
			return i;
	return CONTROLLER_NR;
}

#endif
