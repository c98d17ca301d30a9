#include "engines/procgen/drawing.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/system/linkage.h"
#include "core/system/shared.h"
#include "engines/procgen/guard.h"

/* ---- pixels ----------------------------------------------------------------------------------------- */

/* A pixel whose four colours are multiplied by alpha / 255, rounded as Qt rounds. */
static inline uint32_t scaled(uint32_t pixel, uint32_t alpha) {
    const uint64_t every_second = UINT64_C(0x00ff00ff00ff00ff);
    uint64_t wide = ((pixel | (uint64_t)pixel << 24) & every_second) * alpha;
    wide = ((wide + ((wide >> 8) & every_second) + UINT64_C(0x0080008000800080)) >> 8) & every_second;
    return (uint32_t)wide | (uint32_t)(wide >> 24);
}

/* One of the two directions: which pixels of the target are drawn, and which of the image they show. Places in the
 * image have 16 bits after the point. */
typedef struct span {
    int first, count;
    uint32_t start, step;
} span;

static inline int rounded(double value) {
    const int below = (int)(value - 1);
    return value >= 0 ? (int)(value + 0.5) : (int)(value - below + 0.5) + below;
}

static inline int rounded_up(double value) {
    const int whole = (int)value;
    return whole + (value > whole);
}

static inline span span_of(double from, double length, int pixels, int most, int side) {
    const double end = from + length;
    length = end - from; /* Qt goes by the corners */
    int first = rounded(from), last = rounded(from + length);
    if (first < 0) first = 0;
    if (last > side) last = side;
    span s = {first, last - first, 0, 0};
    if (s.count <= 0) return s;
    const int step = (int)(65536 / (length / pixels));
    s.step = (uint32_t)step;
    s.start = (uint32_t)(rounded_up((first + 0.5 - from) * step) - 1);
    /* By rounding, the last one may be beyond the image. */
    const uint32_t past = (s.start + s.step * (uint32_t)(s.count - 1)) >> 16;
    if ((int)past >= most) s.count--;
    return s;
}

/* What is drawn where; both counts are 0, or none. */
typedef struct window {
    span rows, columns;
} window;

static inline window window_of(const be_pixels *image, double x, double y, double width, double height, int side) {
    const window w = {span_of(y, height, image->height, image->height, side),
                      span_of(x, width, image->width, image->stride, side)};
    return w.rows.count > 0 && w.columns.count > 0 ? w : (window){0};
}

static void draw_window(uint32_t *target, int side, const be_pixels *image, const window *w) {
    const span rows = w->rows, columns = w->columns;
    uint32_t from_row = rows.start;
    for (int i = 0; i < rows.count; i++, from_row += rows.step) {
        const uint32_t *from = image->first + (size_t)(from_row >> 16) * (size_t)image->stride;
        uint32_t *to = target + (rows.first + i) * side + columns.first;
        uint32_t place = columns.start;
        if (image->opaque) {
            for (int j = 0; j < columns.count; j++, place += columns.step) to[j] = from[place >> 16];
            continue;
        }
        for (int j = 0; j < columns.count; j++, place += columns.step) {
            const uint32_t pixel = from[place >> 16];
            if (pixel >= 0xff000000) {
                to[j] = pixel;
            } else if (pixel != 0) {
                to[j] = pixel + scaled(to[j], ~pixel >> 24);
            }
        }
    }
}

void be_draw_stretched(uint32_t *target, int side, const be_pixels *image, double x, double y, double width,
                       double height) {
    const window w = window_of(image, x, y, width, height, side);
    draw_window(target, side, image, &w);
}

/* ---- in place of Qt's functions --------------------------------------------------------------------- */

typedef void qt_painter, qt_image, qt_device;
typedef struct qt_rect {
    double x, y, width, height;
} qt_rect;
enum { QT_RGB32 = 4, QT_ARGB32_PREMULTIPLIED = 6 };

/* X(type, name, parameters, arguments, symbol) */
#define REPLACED(X)                                                                                                    \
    X(make_image,                                                                                                      \
      (qt_image * image, uint8_t *data, int width, int height, int bytes, int format, void *clean, void *info),        \
      (image, data, width, height, bytes, format, clean, info), "_ZN6QImageC1EPhiiiNS_6FormatEPFvPvES2_")              \
    X(make_painter, (qt_painter * painter, qt_device * device), (painter, device), "_ZN8QPainterC1EP12QPaintDevice")   \
    X(set_hint, (qt_painter * painter, int hint, int on), (painter, hint, on),                                         \
      "_ZN8QPainter13setRenderHintENS_10RenderHintEb")                                                                 \
    X(save, (qt_painter * painter), (painter), "_ZN8QPainter4saveEv")                                                  \
    X(restore, (qt_painter * painter), (painter), "_ZN8QPainter7restoreEv")                                            \
    X(set_opacity, (qt_painter * painter, double value), (painter, value), "_ZN8QPainter10setOpacityEd")               \
    X(set_mode, (qt_painter * painter, int mode), (painter, mode),                                                     \
      "_ZN8QPainter18setCompositionModeENS_15CompositionModeE")                                                        \
    X(rotate, (qt_painter * painter, double angle), (painter, angle), "_ZN8QPainter6rotateEd")                         \
    X(translate, (qt_painter * painter, const void *by), (painter, by), "_ZN8QPainter9translateERK7QPointF")           \
    X(draw_image, (qt_painter * painter, const qt_rect *to, const qt_image *image, const qt_rect *from, int flags),    \
      (painter, to, image, from, flags),                                                                               \
      "_ZN8QPainter9drawImageERK6QRectFRK6QImageS2_6QFlagsIN2Qt19ImageConversionFlagEE")

#define THEIRS(name, parameters, arguments, symbol)                                                                    \
    typedef void type_##name parameters;                                                                               \
    static be_any_function *their_##name;                                                                              \
    static inline void call_##name parameters { ((type_##name *)their_##name) arguments; }
REPLACED(THEIRS)
#undef THEIRS

static struct {
    const uint8_t *(*bits)(const qt_image *);
    int (*bytes_per_line)(const qt_image *);
    int (*format)(const qt_image *);
    int (*width)(const qt_image *);
    int (*height)(const qt_image *);
    int64_t (*key)(const qt_image *); /* no two images have the same, and it changes with the image */
} qt;
static int installed; /* whether all of these stand in the library's table */

#define SIDE BE_CANVAS_SIDE

/* What this thread paints on. */
static _Thread_local struct {
    const qt_image *image;     /* the last one that was made around pixels of a frame's size */
    uint32_t *pixels;          /* its */
    const qt_painter *painter; /* NULL: one that paints on something else, or not in the usual way */
    int saved;                 /* how often its state was saved: then it may not be the usual one */
    const qt_image *drawn;     /* the last image that was drawn with this painter; NULL: none */
    be_pixels drawn_pixels;    /* its */
    be_backdrop *backdrop;
} canvas;

/* Also forgets what was made in calls before, whose addresses others may have now. */
void be_drawing_keep(be_backdrop *backdrop) {
    canvas.image = NULL;
    canvas.painter = NULL;
    canvas.backdrop = backdrop;
}

static void own_make_image(qt_image *image, uint8_t *data, int width, int height, int bytes, int format, void *clean,
                           void *info) {
    call_make_image(image, data, width, height, bytes, format, clean, info);
    const int is_frame = width == SIDE && height == SIDE && bytes == 4 * SIDE && format == QT_RGB32;
    canvas.image = is_frame && installed && be_guard_is_running() ? image : NULL;
    canvas.pixels = (void *)data;
    canvas.painter = NULL;
}

static void own_make_painter(qt_painter *painter, qt_device *device) {
    call_make_painter(painter, device);
    canvas.painter = canvas.image && device == canvas.image ? painter : NULL;
    canvas.saved = 0;
    canvas.drawn = NULL;
}

/* Its state changes until it is restored, or for good. */
static void change(const qt_painter *painter) {
    if (painter == canvas.painter && canvas.saved == 0) canvas.painter = NULL;
}

static void own_set_hint(qt_painter *painter, int hint, int on) {
    change(painter);
    call_set_hint(painter, hint, on);
}
static void own_set_opacity(qt_painter *painter, double value) {
    change(painter);
    call_set_opacity(painter, value);
}
static void own_set_mode(qt_painter *painter, int mode) {
    change(painter);
    call_set_mode(painter, mode);
}
static void own_rotate(qt_painter *painter, double angle) {
    change(painter);
    call_rotate(painter, angle);
}
static void own_translate(qt_painter *painter, const void *by) {
    change(painter);
    call_translate(painter, by);
}
static void own_save(qt_painter *painter) {
    canvas.saved += painter == canvas.painter;
    call_save(painter);
}
static void own_restore(qt_painter *painter) {
    canvas.saved -= painter == canvas.painter;
    call_restore(painter);
}

/* Looks up the pixels of an image. Returns 0 if they are of another kind than those that can be drawn here. */
static int look_at(const qt_image *image) {
    const int format = qt.format(image);
    canvas.drawn = NULL;
    if (format != QT_RGB32 && format != QT_ARGB32_PREMULTIPLIED) return 0;
    canvas.drawn_pixels = (be_pixels){
        .first = (const void *)qt.bits(image),
        .width = qt.width(image),
        .height = qt.height(image),
        .stride = qt.bytes_per_line(image) / 4,
        .opaque = format == QT_RGB32,
    };
    const be_pixels *pixels = &canvas.drawn_pixels;
    if (pixels->width < 2 || pixels->height < 2 || pixels->width > 8192 || pixels->height > 8192) return 0;
    canvas.drawn = image;
    return 1;
}

static void copy_window(uint32_t *to, const uint32_t *from, const window *w) {
    for (int i = 0; i < w->rows.count; i++) {
        const int place = (w->rows.first + i) * SIDE + w->columns.first;
        memcpy(to + place, from + place, (size_t)w->columns.count * sizeof *to);
    }
}

/* Draws an opaque image or, where it stands as it stood in the frames before, copies it. It is the first in a frame,
 * and so the picture behind a game, if there is one. */
static void draw_behind(const qt_image *image, const be_pixels *pixels, const qt_rect *to) {
    be_backdrop *kept = canvas.backdrop;
    const double place[4] = {to->x, to->y, to->width, to->height};
    const int64_t key = qt.key(image);
    const int same = kept->key == key && memcmp(kept->place, place, sizeof place) == 0;
    const window w = window_of(pixels, to->x, to->y, to->width, to->height, SIDE);
    if (same && kept->drawn == 2) {
        copy_window(canvas.pixels, kept->pixels, &w);
        return;
    }
    draw_window(canvas.pixels, SIDE, pixels, &w);
    kept->key = key;
    memcpy(kept->place, place, sizeof place);
    kept->drawn = same ? 2 : 1;
    if (same) copy_window(kept->pixels, canvas.pixels, &w);
}

/* Draws a whole image, stretched, on a frame. Returns 0, and does nothing, if it is anything else. */
static int draw(const qt_rect *to, const qt_image *image, const qt_rect *from) {
    const int is_first = canvas.drawn == NULL && canvas.backdrop;
    const be_pixels *pixels = &canvas.drawn_pixels;
    if (image != canvas.drawn && !look_at(image)) return 0;
    if (from->x != 0 || from->y != 0 || from->width != pixels->width || from->height != pixels->height) return 0;
    /* Sizes for which Qt takes other ways. */
    if (!(to->width > 0 && to->height > 0 && to->width < 30000 && to->height < 30000)) return 0;
    if (!(fabs(to->x) < 30000 && fabs(to->y) < 30000)) return 0;
    if (to->width == from->width && to->height == from->height) return 0;
    if (to->width * 30000 < pixels->width || to->height * 30000 < pixels->height) return 0;
    if (is_first && pixels->opaque) {
        draw_behind(image, pixels, to);
    } else {
        be_draw_stretched(canvas.pixels, SIDE, pixels, to->x, to->y, to->width, to->height);
    }
    return 1;
}

static void own_draw_image(qt_painter *painter, const qt_rect *to, const qt_image *image, const qt_rect *from,
                           int flags) {
    const int usual = painter == canvas.painter && canvas.saved == 0;
    if (!usual || !draw(to, image, from)) call_draw_image(painter, to, image, from, flags);
}

void be_drawing_install(void *library) {
    static const be_replacement replacements[] = {
#define ROW(name, parameters, arguments, symbol) {symbol, (be_any_function *)own_##name, &their_##name},
        REPLACED(ROW)
#undef ROW
    };
    *(void **)&qt.bits = be_shared_find(library, "_ZNK6QImage9constBitsEv");
    *(void **)&qt.bytes_per_line = be_shared_find(library, "_ZNK6QImage12bytesPerLineEv");
    *(void **)&qt.format = be_shared_find(library, "_ZNK6QImage6formatEv");
    *(void **)&qt.width = be_shared_find(library, "_ZNK6QImage5widthEv");
    *(void **)&qt.height = be_shared_find(library, "_ZNK6QImage6heightEv");
    *(void **)&qt.key = be_shared_find(library, "_ZNK6QImage8cacheKeyEv");
    const char *(*version)(void);
    *(void **)&version = be_shared_find(library, "qVersion");
    if (!version || !qt.bits || !qt.bytes_per_line || !qt.format || !qt.width || !qt.height || !qt.key) return;
    if (strcmp(version(), "5.9.7") != 0) return; /* another one may round in another way */
    const int count = sizeof replacements / sizeof replacements[0];
    installed = be_linkage_replace(library, replacements, count) == count;
}
