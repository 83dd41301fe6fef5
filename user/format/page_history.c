// SPDX-License-Identifier: Apache-2.0
/*
 * The last ten minutes of pods as lines, of what `pinfold pressure history` prints as numbers. Each
 * drawing has its own scale, which stands below it, and says its figures in words as well, for
 * readers who see no lines. Where nothing is known a line is broken.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "format/object_html.h"
#include "format/page_private.h"
#include "format/view_objects.h"
#include "format/views.h"

/* A unit of width is a second and one of height a hundredth of the scale. */
#define WIDTH	  600
#define HEIGHT	  100
#define SECOND_NS 1000000000.0

static double share(const struct view_history_sample *sample, enum pressure_kind kind)
{
	if (sample->pressure_length_ns <= 0)
		return -1;
	return (double)sample->waited_ns[kind] * 100 / (double)sample->pressure_length_ns;
}

static double cpu_share(const struct view_history_sample *sample)
{
	return share(sample, PRESSURE_CPU_SOME);
}

static double memory_share(const struct view_history_sample *sample)
{
	return share(sample, PRESSURE_MEMORY_SOME);
}

static double io_share(const struct view_history_sample *sample)
{
	return share(sample, PRESSURE_IO_SOME);
}

static double ran(const struct view_history_sample *sample)
{
	if (sample->run_ns < 0 || sample->length_ns <= 0)
		return -1;
	return (double)sample->run_ns / (double)sample->length_ns;
}

static int64_t waited_ns(const struct view_history_sample *sample)
{
	int64_t sum_ns = 0;

	for (int cause = 0; cause < WAIT_CAUSE_NR; cause++)
		sum_ns += sample->cause_ns[cause] > 0 ? sample->cause_ns[cause] : 0;
	return sum_ns;
}

static double waited(const struct view_history_sample *sample)
{
	if (sample->run_ns < 0 || sample->length_ns <= 0)
		return -1;
	return (double)waited_ns(sample) / (double)sample->length_ns;
}

struct line {
	const char *class, *title;
	double (*value)(const struct view_history_sample *sample); /* < 0 = not known */
};

static const struct line pressure_lines[] = {
	{"line-cpu", "waited for a CPU", cpu_share},
	{"line-memory", "waited for memory", memory_share},
	{"line-io", "waited for IO", io_share},
};
static const struct line cpu_lines[] = {
	{"line-ran", "ran", ran},
	{"line-waited", "was runnable but did not run", waited},
};

struct chart {
	const char *title, *unit;
	const char *scale; /* what the scale is of */
	size_t nr;
	const struct line *lines;
	double least, most; /* of its scale */
};

static const struct chart charts[] = {
	{"Share of the time in which a task", "%", "", ARRAY_SIZE(pressure_lines), pressure_lines,
	 1, 100},
	{"CPUs on which it", "", "CPUs: ", ARRAY_SIZE(cpu_lines), cpu_lines, 0.1, 1e6},
};

struct past {
	const struct view_history *history;
	const struct view_history_sample *samples; /* history->nr_samples */
	uint64_t end_ns;			   /* the right edge */
};

/* What a line has over the whole time; `is_known` = anything. */
struct figures {
	bool is_known;
	double mean, most;
};

static struct figures figures_of(const struct past *past, const struct line *line)
{
	struct figures figures = {0};
	double length = 0, sum = 0;

	for (size_t i = 0; i < past->history->nr_samples; i++) {
		const struct view_history_sample *sample = &past->samples[i];
		const double value = line->value(sample);

		if (value < 0)
			continue;
		figures.is_known = true;
		sum += value * (double)sample->length_ns;
		length += (double)sample->length_ns;
		if (value > figures.most)
			figures.most = value;
	}
	if (length > 0)
		figures.mean = sum / length;
	return figures;
}

/* 1, 2 or 5 times a power of ten, at least as much as any value. */
static double scale_of(const struct past *past, const struct chart *chart)
{
	static const double steps[] = {2, 2.5, 2};
	double scale = chart->least, most = 0;

	for (size_t i = 0; i < chart->nr; i++) {
		const struct figures figures = figures_of(past, &chart->lines[i]);

		if (figures.most > most)
			most = figures.most;
	}
	for (size_t i = 0; scale < most && scale < chart->most; i++)
		scale *= steps[i % ARRAY_SIZE(steps)];
	return scale;
}

static void append_point(const struct past *past, uint64_t time_ns, double value, double scale,
			 struct text *text)
{
	const double ago = time_ns < past->end_ns ? (double)(past->end_ns - time_ns) / SECOND_NS
						  : 0;
	const double x = ago < WIDTH ? WIDTH - ago : 0;
	const double y = value < scale ? HEIGHT - value * HEIGHT / scale : 0;

	text_printf(text, "%.0f,%.0f ", x, y);
}

/* A polyline for each part of the past without a gap. */
static void append_line(const struct past *past, const struct line *line, double scale,
			struct text *text)
{
	bool is_open = false;

	for (size_t i = 0; i < past->history->nr_samples; i++) {
		const struct view_history_sample *sample = &past->samples[i];
		const double value = line->value(sample);

		if (value < 0) {
			text_append(text, is_open ? "\"/>" : "");
			is_open = false;
			continue;
		}
		if (!is_open) {
			text_printf(text, "<polyline class=%s points=\"", line->class);
			append_point(past, sample->time_ns - (uint64_t)sample->length_ns, value,
				     scale, text);
		}
		is_open = true;
		append_point(past, sample->time_ns, value, scale, text);
	}
	text_append(text, is_open ? "\"/>" : "");
}

static void append_name(const struct view_history *history, struct text *text)
{
	html_append(text, history->namespace ? history->namespace : "");
	text_append(text, "/");
	html_append(text, history->pod ? history->pod : "");
}

static void append_figures(const struct past *past, const struct chart *chart, struct text *text)
{
	for (size_t i = 0; i < chart->nr; i++) {
		const struct line *line = &chart->lines[i];
		const struct figures figures = figures_of(past, line);

		text_printf(text, "%s%s ", i ? "; " : "", line->title);
		if (figures.is_known)
			text_printf(text, "%.3g%s on average, %.3g%s at most", figures.mean,
				    chart->unit, figures.most, chart->unit);
		else
			text_append(text, "is not known");
	}
}

static void append_chart(const struct past *past, const struct chart *chart, struct text *text)
{
	const double scale = scale_of(past, chart);

	text_printf(text,
		    "<div><svg viewBox=\"0 0 %d %d\" preserveAspectRatio=none role=img><title>",
		    WIDTH, HEIGHT);
	append_name(past->history, text);
	text_printf(text, ", the last 10 minutes</title><desc>%s: ", chart->title);
	append_figures(past, chart, text);
	text_append(text, "</desc>");
	for (size_t i = 0; i < chart->nr; i++)
		append_line(past, &chart->lines[i], scale, text);
	text_printf(text, "</svg><small>%s0 to %.3g%s</small></div>", chart->scale, scale,
		    chart->unit);
}

static void append_seconds(int64_t ns, struct text *text)
{
	object_append_seconds(text, (double)ns / SECOND_NS);
}

static void append_sums(const struct past *past, struct text *text)
{
	int64_t run_ns = 0, wait_ns = 0;
	bool is_known = false;

	for (size_t i = 0; i < past->history->nr_samples; i++) {
		if (past->samples[i].run_ns < 0)
			continue;
		is_known = true;
		run_ns += past->samples[i].run_ns;
		wait_ns += waited_ns(&past->samples[i]);
	}
	if (!is_known) {
		text_append(text, "run time is not counted");
		return;
	}
	text_append(text, "waited ");
	append_seconds(wait_ns, text);
	text_append(text, " for CPUs, ran ");
	append_seconds(run_ns, text);
}

static void append_past(struct json_object *json, uint64_t end_ns, struct text *text)
{
	struct json_object *list = object_list(&view_history_desc, json, &view_history_sample_desc);
	struct view_history_sample *samples cleanup_free = NULL;
	struct view_history history;
	struct past past = {.history = &history, .end_ns = end_ns};

	object_read(&view_history_desc, json, &history);
	samples = calloc(history.nr_samples + 1, sizeof(*samples));
	if (!samples) {
		text->error = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < history.nr_samples; i++)
		object_read(&view_history_sample_desc, json_object_array_get_idx(list, i),
			    &samples[i]);
	past.samples = samples;
	text_append(text, "<li><b>");
	append_name(&history, text);
	text_append(text, "</b> <span>");
	append_sums(&past, text);
	text_append(text, "</span>");
	for (size_t i = 0; i < ARRAY_SIZE(charts); i++)
		append_chart(&past, &charts[i], text);
	text_append(text, "\n");
}

static void append_legend(struct text *text)
{
	text_append(text, "<ul class=legend>");
	for (size_t i = 0; i < ARRAY_SIZE(charts); i++)
		for (size_t j = 0; j < charts[i].nr; j++)
			text_printf(text, "<li><i class=\"swatch %s\"></i> %s",
				    charts[i].lines[j].class, charts[i].lines[j].title);
	text_append(text, "</ul>\n");
}

void page_append_history(struct json_object *histories, uint64_t end_ns, struct text *text)
{
	const size_t nr = json_object_array_length(histories);

	if (!nr) {
		text_append(text, "<p class=none>No pod waited, or none is observed.</p>\n");
		return;
	}
	append_legend(text);
	text_append(text, "<ol class=lines>\n");
	for (size_t i = 0; i < nr && i < PAGE_HISTORIES_MAX; i++)
		append_past(json_object_array_get_idx(histories, i), end_ns, text);
	text_printf(
		text,
		"</ol>\n<p class=more>Shown are at most %d pods, those whose tasks waited longest "
		"for CPUs, memory and IO. <code>pinfold pressure history POD</code> prints the "
		"figures of any pod, also by cause and of the last 24 hours.</p>\n",
		PAGE_HISTORIES_MAX);
}
