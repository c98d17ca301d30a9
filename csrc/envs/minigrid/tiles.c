/* Tiles: the pictures of cells, equal to those of Grid.render_tile of the package minigrid. A tile is drawn at three
 * times its size and then made smaller, which smoothes its edges. Each is drawn once per process. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "envs/minigrid/grid.h"
#include "libm.h"

static const uint8_t color_of[MG_NUM_COLORS][3] = {{255, 0, 0},    {0, 255, 0},   {0, 0, 255},
                                                   {112, 39, 195}, {255, 255, 0}, {100, 100, 100}};

static int in_rect(double x, double y, double left, double right, double top, double bottom) {
    return x >= left && x <= right && y >= top && y <= bottom;
}

static int in_circle(double x, double y, double cx, double cy, double r) {
    return (x - cx) * (x - cx) + (y - cy) * (y - cy) <= r * r;
}

/* Whether (x, y) is at most r away from the line from (x0, y0) to (x1, y1), which the reference has in float32. */
static int on_line(double x, double y, double x0, double y0, double x1, double y1, double r) {
    if (x < fmin(x0, x1) - r || x > fmax(x0, x1) + r || y < fmin(y0, y1) - r || y > fmax(y0, y1) + r) return 0;
    const float px = (float)x0, py = (float)y0, dx = (float)x1 - px, dy = (float)y1 - py;
    const float length = sqrtf(dx * dx + dy * dy), ux = dx / length, uy = dy / length;
    const double along = fmin(fmax((x - px) * ux + (y - py) * uy, 0), length);
    const double ox = x - (px + along * ux), oy = y - (py + along * uy);
    return sqrt(ox * ox + oy * oy) <= r;
}

/* Whether (x, y) is in the triangle that stands for an agent looking in this direction. */
static int in_agent(double x, double y, int direction) {
    const double angle = -(0.5 * M_PI * direction), rx = x - 0.5, ry = y - 0.5;
    const double cosine = be_math.cos(angle), sine = be_math.sin(angle);
    const double px = 0.5 + rx * cosine - ry * sine, py = 0.5 + ry * cosine + rx * sine;
    const float ax = 0.12f, ay = 0.19f, v0x = 0.12f - ax, v0y = 0.81f - ay, v1x = 0.87f - ax, v1y = 0.50f - ay;
    const double v2x = px - ax, v2y = py - ay;
    const float dot00 = v0x * v0x + v0y * v0y, dot01 = v0x * v1x + v0y * v1y, dot11 = v1x * v1x + v1y * v1y;
    const double dot02 = v0x * v2x + v0y * v2y, dot12 = v1x * v2x + v1y * v2y;
    const float scale = 1 / (dot00 * dot11 - dot01 * dot01);
    const double u = (dot11 * dot02 - dot01 * dot12) * scale, v = (dot00 * dot12 - dot01 * dot02) * scale;
    return u >= 0 && v >= 0 && u + v < 1;
}

static void paint(uint8_t *rgb, const uint8_t *color, double factor) {
    for (int c = 0; c < 3; c++) rgb[c] = (uint8_t)(factor * color[c]);
}

static void paint_door(uint8_t *rgb, int kind, const uint8_t *color, double x, double y) {
    if (kind == MG_OPEN_DOOR) {
        if (in_rect(x, y, 0.88, 1.00, 0.00, 1.00)) paint(rgb, color, 1);
        if (in_rect(x, y, 0.92, 0.96, 0.04, 0.96)) paint(rgb, color, 0);
        return;
    }
    paint(rgb, color, 1);
    if (kind == MG_LOCKED_DOOR) {
        if (in_rect(x, y, 0.06, 0.94, 0.06, 0.94)) paint(rgb, color, 0.45);
        if (in_rect(x, y, 0.52, 0.75, 0.50, 0.56)) paint(rgb, color, 1);
        return;
    }
    if (in_rect(x, y, 0.04, 0.96, 0.04, 0.96)) paint(rgb, color, 0);
    if (in_rect(x, y, 0.08, 0.92, 0.08, 0.92)) paint(rgb, color, 1);
    if (in_rect(x, y, 0.12, 0.88, 0.12, 0.88)) paint(rgb, color, 0);
    if (in_circle(x, y, 0.75, 0.50, 0.08)) paint(rgb, color, 1);
}

static void paint_lava(uint8_t *rgb, double x, double y) {
    static const uint8_t orange[3] = {255, 128, 0};
    paint(rgb, orange, 1);
    for (int i = 0; i < 3; i++) {
        const double low = 0.3 + 0.2 * i, high = 0.4 + 0.2 * i;
        if (on_line(x, y, 0.1, low, 0.3, high, 0.03) || on_line(x, y, 0.3, high, 0.5, low, 0.03) ||
            on_line(x, y, 0.5, low, 0.7, high, 0.03) || on_line(x, y, 0.7, high, 0.9, low, 0.03)) {
            paint(rgb, orange, 0);
        }
    }
}

/* The color of a point of a tile; x and y are from 0 to 1. agent: 0, or 1 and its direction. */
static void paint_point(uint8_t *rgb, mg_cell cell, int agent, int lit, double x, double y) {
    const uint8_t *color = color_of[mg_color(cell)];
    memset(rgb, 0, 3);
    if (in_rect(x, y, 0, 0.031, 0, 1) || in_rect(x, y, 0, 1, 0, 0.031)) paint(rgb, color_of[MG_GREY], 1);
    switch (mg_kind(cell)) {
    case MG_WALL:
    case MG_GOAL:
        paint(rgb, color, 1);
        break;
    case MG_FLOOR:
        if (in_rect(x, y, 0.031, 1, 0.031, 1)) paint(rgb, color, 0.5);
        break;
    case MG_OPEN_DOOR:
    case MG_CLOSED_DOOR:
    case MG_LOCKED_DOOR:
        paint_door(rgb, mg_kind(cell), color, x, y);
        break;
    case MG_KEY:
        if (in_rect(x, y, 0.50, 0.63, 0.31, 0.88) || in_rect(x, y, 0.38, 0.50, 0.59, 0.66) ||
            in_rect(x, y, 0.38, 0.50, 0.81, 0.88) || in_circle(x, y, 0.56, 0.28, 0.190)) {
            paint(rgb, color, 1);
        }
        if (in_circle(x, y, 0.56, 0.28, 0.064)) paint(rgb, color, 0);
        break;
    case MG_BALL:
        if (in_circle(x, y, 0.5, 0.5, 0.31)) paint(rgb, color, 1);
        break;
    case MG_BOX:
        if (in_rect(x, y, 0.12, 0.88, 0.12, 0.88)) paint(rgb, color, 1);
        if (in_rect(x, y, 0.18, 0.82, 0.18, 0.82)) paint(rgb, color, 0);
        if (in_rect(x, y, 0.16, 0.84, 0.47, 0.53)) paint(rgb, color, 1);
        break;
    case MG_LAVA:
        paint_lava(rgb, x, y);
        break;
    default:
        break;
    }
    if (agent && in_agent(x, y, agent - 1)) paint(rgb, color_of[MG_RED], 1);
    for (int c = 0; c < 3 && lit; c++) rgb[c] = (uint8_t)(rgb[c] + 0.30 * (255 - rgb[c]));
}

static void draw_tile(uint8_t *tile, mg_cell cell, int agent, int lit, int side) {
    const double n = 3 * side;
    for (int y = 0; y < side; y++) {
        for (int x = 0; x < side; x++, tile += 3) {
            double rows[3][3] = {{0}}; /* the means of three points each, as NumPy rounds them */
            for (int j = 0; j < 3; j++) {
                uint8_t rgb[3][3];
                for (int i = 0; i < 3; i++) {
                    paint_point(rgb[i], cell, agent, lit, (3 * x + i + 0.5) / n, (3 * y + j + 0.5) / n);
                }
                for (int c = 0; c < 3; c++) rows[j][c] = (rgb[0][c] + rgb[1][c] + rgb[2][c]) / 3.0;
            }
            for (int c = 0; c < 3; c++) tile[c] = (uint8_t)((rows[0][c] + rows[1][c] + rows[2][c]) / 3.0);
        }
    }
}

static size_t offset_of(mg_cell cell, int agent, int lit, int side) {
    return (size_t)((agent * 2 + lit) * 256 + cell) * (size_t)(3 * side * side);
}

const uint8_t *mg_tile(const uint8_t *tiles, mg_cell cell, int agent, int lit, int side) {
    return tiles + offset_of(cell, agent, lit, side);
}

const uint8_t *mg_tiles(int side) {
    static uint8_t *made[MG_MAX_TILE + 1]; /* never freed: lanes of any batch may use them */
    uint8_t *tiles = __atomic_load_n(&made[side], __ATOMIC_ACQUIRE);
    if (tiles != NULL) return tiles;
    /* Pages of cells that do not exist are never touched. */
    uint8_t *memory = calloc(1, 10 * 256 * (size_t)(3 * side * side) + 63);
    if (memory == NULL) return NULL;
    tiles = memory + (-(uintptr_t)memory & 63); /* a vector of a tile then lies in one line of the cache */
    for (int kind = MG_EMPTY; kind < MG_NUM_KINDS; kind++) {
        const int agents = 1u << kind & (MG_WALKABLE | MG_CARRIABLE) ? 5 : 1;
        for (int which = 0; which < MG_NUM_COLORS * agents * 2; which++) {
            const mg_cell cell = MG_CELL(kind, which % MG_NUM_COLORS);
            const int agent = which / MG_NUM_COLORS % agents, lit = which / MG_NUM_COLORS / agents;
            draw_tile(tiles + offset_of(cell, agent, lit, side), cell, agent, lit, side);
        }
    }
    uint8_t *none = NULL;
    if (__atomic_compare_exchange_n(&made[side], &none, tiles, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return tiles;
    free(memory); /* another thread was quicker */
    return none;
}
