/*
 * report.c - rows of measurements: medians, ratios round by round, limits, the tables, JSON.
 *
 * A ratio is the median of the ratios of the rounds, Larder's figure of a round against the
 * other system's of the same round, so that what slows the machine down slows both.
 */
#include "bench.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 128, ROUNDS_MAX = 64, NOTES_MAX = 64 };

typedef struct series {
    int count;
    double figure[ROUNDS_MAX], processor[ROUNDS_MAX];
} series;

typedef struct row {
    row_spec spec;
    int64_t n;
    series of[SYSTEM_COUNT];
    bool printed;
} row;

static row rows[ROWS_MAX];
static int row_count;
static char *notes[NOTES_MAX];
static int note_count;

const peer *const peers[SYSTEM_COUNT] = {&larder_peer, &raw_peer, &sqlite_peer};

static const char *const keys[SYSTEM_COUNT] = {"larder", "raw", "sqlite"};

/* ---- collecting ---- */

static row *row_of(const row_spec *spec, int64_t n) {
    for (int k = 0; k < row_count; k++) {
        if (rows[k].n == n && strcmp(rows[k].spec.id, spec->id) == 0) return &rows[k];
    }
    if (row_count == ROWS_MAX) fail("more than %d rows", ROWS_MAX);
    rows[row_count] = (row){.spec = *spec, .n = n};
    return &rows[row_count++];
}

void row_add(const row_spec *spec, int64_t n, int system, double figure, double processor) {
    series *s = &row_of(spec, n)->of[system];
    if (s->count == ROUNDS_MAX) return;
    s->figure[s->count] = figure;
    s->processor[s->count] = processor;
    s->count++;
}

void row_add_time(const row_spec *spec, int64_t n, int system, stopwatch elapsed, double count) {
    double scale = strcmp(spec->unit, "ms") == 0 ? 1e3 : strcmp(spec->unit, "ns") == 0 ? 1e9 : 1e6;
    row_add(spec, n, system, elapsed.wall * scale / count, elapsed.processor * scale / count);
}

void report_note(const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (note_count < NOTES_MAX) notes[note_count++] = strdup(text);
    printf("    %s\n", text);
    fflush(stdout);
}

/* ---- arithmetic ---- */

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct summary {
    bool known;
    double median, least, most;
} summary;

static summary summarize(const double *values, int count) {
    double sorted[ROUNDS_MAX];
    if (count == 0) return (summary){0};
    memcpy(sorted, values, (size_t)count * sizeof sorted[0]);
    qsort(sorted, (size_t)count, sizeof sorted[0], compare_doubles);
    double median =
        count % 2 == 1 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
    return (summary){true, median, sorted[0], sorted[count - 1]};
}

static summary figure_of(const row *r, int system) {
    return summarize(r->of[system].figure, r->of[system].count);
}

static summary processor_of(const row *r, int system) {
    const series *s = &r->of[system];
    if (s->count == 0 || s->processor[0] < 0) return (summary){0};
    return summarize(s->processor, s->count);
}

static summary ratio_to(const row *r, int other, bool processor) {
    const series *a = &r->of[SYSTEM_LARDER], *b = &r->of[other];
    const double *x = processor ? a->processor : a->figure;
    const double *y = processor ? b->processor : b->figure;
    double ratios[ROUNDS_MAX];
    int count = a->count < b->count ? a->count : b->count;
    for (int k = 0; k < count; k++) {
        if (y[k] <= 0 || x[k] < 0) return (summary){0};
        ratios[k] = x[k] / y[k];
    }
    return summarize(ratios, count);
}

/* What the limit is compared with. */
static summary reached(const row *r) {
    switch (r->spec.kind) {
    case LIMIT_TO_RAW:
        return ratio_to(r, SYSTEM_RAW, false);
    case LIMIT_TO_SQLITE:
        return ratio_to(r, SYSTEM_SQLITE, false);
    case LIMIT_VALUE:
        return figure_of(r, SYSTEM_LARDER);
    default:
        return (summary){0};
    }
}

static bool met(const row *r, summary value) { return value.median <= r->spec.limit; }

/* ---- printing ---- */

static const char *number(double value, char to[24]) {
    int digits = value == 0 || fabs(value) >= 1000 ? 0 : fabs(value) >= 100 ? 1 : 2;
    if (value != 0 && fabs(value) < 0.1) digits = 4;
    snprintf(to, 24, "%.*f", digits, value);
    return to;
}

static void print_ratio(const row *r, int other) {
    char a[24], b[24], c[24], d[24];
    summary ratio = ratio_to(r, other, false), busy = ratio_to(r, other, true);
    if (!ratio.known) return;
    printf("        Larder / %-9s %9s   (%s .. %s)", peers[other]->label, number(ratio.median, a),
           number(ratio.least, b), number(ratio.most, c));
    if (busy.known) printf("   processor %s", number(busy.median, d));
    putchar('\n');
}

static void print_row(const row *r) {
    char a[24], b[24], c[24], d[24];
    printf("\n    %s", r->spec.title);
    if (r->n > 0) printf(", N = %lld", (long long)r->n);
    putchar('\n');
    for (int system = 0; system < SYSTEM_COUNT; system++) {
        summary figure = figure_of(r, system), busy = processor_of(r, system);
        if (!figure.known) continue;
        printf("        %-18s %9s %s   (%s .. %s)", peers[system]->label, number(figure.median, a),
               r->spec.unit, number(figure.least, b), number(figure.most, c));
        if (busy.known) printf("   processor %s", number(busy.median, d));
        putchar('\n');
    }
    print_ratio(r, SYSTEM_RAW);
    print_ratio(r, SYSTEM_SQLITE);
    fflush(stdout);
}

void report_rows(void) {
    for (int k = 0; k < row_count; k++) {
        if (!rows[k].printed) print_row(&rows[k]);
        rows[k].printed = true;
    }
}

static void describe_limit(const row *r, char to[48]) {
    char a[24];
    switch (r->spec.kind) {
    case LIMIT_TO_RAW:
        snprintf(to, 48, "<= %s x raw", number(r->spec.limit, a));
        break;
    case LIMIT_TO_SQLITE:
        snprintf(to, 48, "<= %s x SQLite", number(r->spec.limit, a));
        break;
    default:
        snprintf(to, 48, "<= %s %s", number(r->spec.limit, a), r->spec.unit);
        break;
    }
}

/* The least processor time over the rounds, or the least figure where there is none: the two
 * sizes are measured minutes apart, and whatever else the machine does only adds. */
static double least_cost(const row *r, int system) {
    summary busy = processor_of(r, system), figure = figure_of(r, system);
    return busy.known ? busy.least : figure.known ? figure.least : 0;
}

/* How what an operation costs as a whole grows from the smallest N to the largest (factor), and
 * how N does (linear); false when a row has one N only. */
static bool growth(const row *small, int system, double *factor, double *linear) {
    const row *large = NULL;
    for (int k = 0; k < row_count; k++) {
        if (strcmp(rows[k].spec.id, small->spec.id) != 0) continue;
        if (rows[k].n < small->n) return false;
        if (large == NULL || rows[k].n > large->n) large = &rows[k];
    }
    if (large == NULL || large->n <= small->n) return false;
    double from = least_cost(small, system), to = least_cost(large, system);
    if (from <= 0 || to <= 0) return false;
    *linear = (double)large->n / (double)small->n;
    *factor = to / from * (small->spec.growth == GROWTH_PER_DOCUMENT ? *linear : 1);
    return true;
}

/* Where the floor itself grows faster than N, because its pages leave the processor's caches,
 * Larder may grow as fast. */
static const char *growth_verdict(const row *r) {
    double mine, raw, linear;
    if (r->spec.growth == GROWTH_NONE || !growth(r, SYSTEM_LARDER, &mine, &linear)) return NULL;
    if (mine <= linear) return "met";
    if (growth(r, SYSTEM_RAW, &raw, &linear) && mine <= raw) return "no worse than raw";
    return "MISSED";
}

int report_summary(void) {
    char a[24], b[24], c[24], limit[48], n[24];
    int missed = 0;
    bool any = false;
    for (int k = 0; k < row_count; k++) {
        const row *r = &rows[k];
        summary value = reached(r);
        if (r->spec.kind == LIMIT_NONE || !value.known) continue;
        if (!any) {
            printf(
                "\nReach and limit (wall clock decides; the ratio of processor times beside it)\n\n"
                "    %-58s %8s %9s %9s  %s\n",
                "row", "N", "reached", "processor", "limit");
        }
        any = true;
        describe_limit(r, limit);
        snprintf(n, sizeof n, "%lld", (long long)r->n);
        summary busy = {0};
        if (r->spec.kind == LIMIT_TO_RAW) busy = ratio_to(r, SYSTEM_RAW, true);
        printf("    %-58s %8s %9s %9s  %-16s  %s\n", r->spec.title, r->n > 0 ? n : "-",
               number(value.median, a), busy.known ? number(busy.median, b) : "-", limit,
               met(r, value) ? "met" : "MISSED");
        if (!met(r, value)) missed++;
    }
    bool header = false;
    for (int k = 0; k < row_count; k++) {
        const row *r = &rows[k];
        const char *verdict = growth_verdict(r);
        double linear = 0, factor[SYSTEM_COUNT] = {0};
        if (verdict == NULL) continue;
        if (!header) {
            printf("\nGrowth of a whole operation from the smallest N to the largest (linear: that "
                   "of N)\n\n"
                   "    %-58s %8s %9s %9s %9s\n",
                   "row", "linear", "Larder", "raw LMDB", "SQLite");
        }
        header = true;
        for (int system = 0; system < SYSTEM_COUNT; system++) {
            growth(r, system, &factor[system], &linear);
        }
        printf("    %-58s %8.0f %9s %9s %9s  %s\n", r->spec.title, linear, number(factor[0], a),
               factor[1] > 0 ? number(factor[1], b) : "-",
               factor[2] > 0 ? number(factor[2], c) : "-", verdict);
        if (strcmp(verdict, "MISSED") == 0) missed++;
    }
    if (any || header) printf("\n%d missed\n", missed);
    fflush(stdout);
    return missed;
}

/* ---- JSON ---- */

void json_text(FILE *file, const char *text) {
    fputc('"', file);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', file);
        if ((unsigned char)*text >= 0x20) fputc(*text, file);
    }
    fputc('"', file);
}

static void json_summary(FILE *file, const char *key, summary value) {
    if (!value.known) return;
    fprintf(file, ",\"%s\":{\"median\":%.9g,\"min\":%.9g,\"max\":%.9g}", key, value.median,
            value.least, value.most);
}

static void json_row(FILE *file, const row *r) {
    static const char *const kinds[] = {"none", "raw", "sqlite", "value"};
    fprintf(file, "{\"id\":\"%s\",\"n\":%lld,\"unit\":\"%s\",\"title\":", r->spec.id,
            (long long)r->n, r->spec.unit);
    json_text(file, r->spec.title);
    for (int system = 0; system < SYSTEM_COUNT; system++) {
        char key[32];
        json_summary(file, keys[system], figure_of(r, system));
        snprintf(key, sizeof key, "%s_processor", keys[system]);
        json_summary(file, key, processor_of(r, system));
    }
    json_summary(file, "ratio_raw", ratio_to(r, SYSTEM_RAW, false));
    json_summary(file, "ratio_sqlite", ratio_to(r, SYSTEM_SQLITE, false));
    json_summary(file, "ratio_raw_processor", ratio_to(r, SYSTEM_RAW, true));
    summary value = reached(r);
    if (r->spec.kind != LIMIT_NONE && value.known) {
        fprintf(file, ",\"limit\":{\"of\":\"%s\",\"at_most\":%.9g,\"reached\":%.9g,\"met\":%s}",
                kinds[r->spec.kind], r->spec.limit, value.median, met(r, value) ? "true" : "false");
    }
    const char *verdict = growth_verdict(r);
    double factor, linear;
    if (verdict != NULL && growth(r, SYSTEM_LARDER, &factor, &linear)) {
        fprintf(file, ",\"growth\":{\"linear\":%.9g,\"factor\":%.9g,\"verdict\":\"%s\"}", linear,
                factor, verdict);
    }
    fputc('}', file);
}

void report_json(const char *path) {
    FILE *file = fopen(path, "w");
    if (file == NULL) fail("cannot write %s", path);
    fputs("{\"machine\":{", file);
    machine_json(file);
    fputs("},\n\"notes\":[", file);
    for (int k = 0; k < note_count; k++) {
        if (k > 0) fputc(',', file);
        json_text(file, notes[k]);
    }
    fputs("],\n\"rows\":[\n", file);
    for (int k = 0; k < row_count; k++) {
        if (k > 0) fputs(",\n", file);
        json_row(file, &rows[k]);
    }
    fputs("\n]}\n", file);
    if (fclose(file) != 0) fail("cannot write %s", path);
}
