/* The tree of boxes with which Box2D finds pairs that may touch: a binary tree of all boxes, kept in balance.
 *
 * Which pairs are found does not depend on the tree's form, but the numbers of its nodes do, and contacts are made in
 * the order of these numbers. A world that goes on over many episodes therefore needs the whole tree.
 */
#ifndef BOX2D_TREE_H
#define BOX2D_TREE_H

#include <stdint.h>

#include "geometry.h"

#define TREE_NODES 512
#define NO_NODE (-1)

typedef struct links {
    int32_t parent; /* of a free node: the next one that is free */
    int32_t child1; /* NO_NODE: a leaf */
    int32_t child2; /* of a leaf: whose box it is */
    int32_t height; /* of a leaf 0, of a free node -1 */
} links;

#define LINKS_INTS 4

/* What a lane keeps of it beside the nodes. */
typedef struct tree_ends {
    int32_t root, free, fresh; /* free: the first of the list; fresh: how many nodes have ever been used */
} tree_ends;

typedef struct tree {
    box *box;
    links *node;
    tree_ends *ends;
} tree;

static inline void tree_clear(const tree *t) { *t->ends = (tree_ends){NO_NODE, NO_NODE, 0}; }

static inline box box_union(const box *a, const box *b) {
    return (box){{min_f(a->low.x, b->low.x), min_f(a->low.y, b->low.y)},
                 {max_f(a->high.x, b->high.x), max_f(a->high.y, b->high.y)}};
}

static inline float perimeter(const box *b) { return 2.0f * ((b->high.x - b->low.x) + (b->high.y - b->low.y)); }
static inline float union_perimeter(const box *a, const box *b) {
    const box both = box_union(a, b);
    return perimeter(&both);
}

/* There are always enough: each env knows how many boxes it has at most. */
static inline int tree_take(const tree *t) {
    int n = t->ends->free;
    if (n == NO_NODE) {
        n = t->ends->fresh++;
    } else {
        t->ends->free = t->node[n].parent;
    }
    t->node[n] = (links){NO_NODE, NO_NODE, NO_NODE, 0};
    return n;
}

static inline void tree_give(const tree *t, int n) {
    t->node[n].parent = t->ends->free;
    t->node[n].height = -1;
    t->ends->free = n;
}

static inline void tree_replace_child(const tree *t, int parent, int old, int new) {
    if (parent == NO_NODE) {
        t->ends->root = new;
    } else if (t->node[parent].child1 == old) {
        t->node[parent].child1 = new;
    } else {
        t->node[parent].child2 = new;
    }
}

static inline void tree_measure(const tree *t, int n) {
    const int a = t->node[n].child1, b = t->node[n].child2;
    const int ha = t->node[a].height, hb = t->node[b].height;
    t->node[n].height = 1 + (ha > hb ? ha : hb);
    t->box[n] = box_union(&t->box[a], &t->box[b]);
}

/* Lifts the child `up` of node n, which is too high, to the place of n. Returns it. */
static inline int tree_lift(const tree *t, int n, int up, int second) {
    links *node = t->node;
    const int f = node[up].child1, g = node[up].child2;
    const int parent = node[n].parent;
    node[up].child1 = n;
    node[up].parent = parent;
    node[n].parent = up;
    tree_replace_child(t, parent, n, up);
    const int stays = node[f].height > node[g].height ? f : g, moves = stays == f ? g : f;
    node[up].child2 = stays;
    *(second ? &node[n].child2 : &node[n].child1) = moves;
    node[moves].parent = n;
    tree_measure(t, n);
    tree_measure(t, up);
    return up;
}

static inline int tree_balance(const tree *t, int n) {
    const links *node = &t->node[n];
    if (node->child1 == NO_NODE || node->height < 2) return n;
    const int lean = t->node[node->child2].height - t->node[node->child1].height;
    if (lean > 1) return tree_lift(t, n, node->child2, 1);
    if (lean < -1) return tree_lift(t, n, node->child1, 0);
    return n;
}

static inline void tree_repair(const tree *t, int n) {
    while (n != NO_NODE) {
        n = tree_balance(t, n);
        tree_measure(t, n);
        n = t->node[n].parent;
    }
}

static inline void tree_insert(const tree *t, int leaf) {
    if (t->ends->root == NO_NODE) {
        t->ends->root = leaf;
        t->node[leaf].parent = NO_NODE;
        return;
    }
    const box *mine = &t->box[leaf];
    int n = t->ends->root;
    while (t->node[n].child1 != NO_NODE) {
        const float area = perimeter(&t->box[n]), larger = union_perimeter(&t->box[n], mine);
        const float cost = 2.0f * larger, inherited = 2.0f * (larger - area);
        float costs[2];
        for (int i = 0; i < 2; i++) {
            const int child = i ? t->node[n].child2 : t->node[n].child1;
            float added = union_perimeter(mine, &t->box[child]);
            if (t->node[child].child1 != NO_NODE) added = added - perimeter(&t->box[child]);
            costs[i] = added + inherited;
        }
        if (cost < costs[0] && cost < costs[1]) break;
        n = costs[0] < costs[1] ? t->node[n].child1 : t->node[n].child2;
    }
    const int old = t->node[n].parent, parent = tree_take(t);
    t->node[parent] = (links){old, n, leaf, t->node[n].height + 1};
    t->box[parent] = box_union(mine, &t->box[n]);
    tree_replace_child(t, old, n, parent);
    t->node[n].parent = parent;
    t->node[leaf].parent = parent;
    tree_repair(t, parent);
}

static inline void tree_remove(const tree *t, int leaf) {
    if (leaf == t->ends->root) {
        t->ends->root = NO_NODE;
        return;
    }
    const int parent = t->node[leaf].parent, above = t->node[parent].parent;
    const int sibling = t->node[parent].child1 == leaf ? t->node[parent].child2 : t->node[parent].child1;
    tree_replace_child(t, above, parent, sibling);
    t->node[sibling].parent = above;
    tree_give(t, parent);
    tree_repair(t, above);
}

/* Adds a box. Returns its leaf. */
static inline int tree_add(const tree *t, box b, int owner) {
    const int leaf = tree_take(t);
    t->box[leaf] = b;
    t->node[leaf].child2 = owner;
    tree_insert(t, leaf);
    return leaf;
}

static inline void tree_delete(const tree *t, int leaf) {
    tree_remove(t, leaf);
    tree_give(t, leaf);
}

static inline void tree_move(const tree *t, int leaf, box b) {
    tree_remove(t, leaf);
    t->box[leaf] = b;
    tree_insert(t, leaf);
}

/* Writes the leaves whose boxes overlap this one. Returns how many there are, at most `most`. */
static inline int tree_query(const tree *t, const box *b, int *leaves, int most) {
    int stack[TREE_NODES], depth = 0, count = 0;
    if (t->ends->root != NO_NODE) stack[depth++] = t->ends->root;
    while (depth > 0) {
        const int n = stack[--depth];
        if (!overlap(&t->box[n], b)) continue;
        if (t->node[n].child1 == NO_NODE) {
            if (count < most) leaves[count++] = n;
        } else if (depth < TREE_NODES - 2) {
            stack[depth++] = t->node[n].child1;
            stack[depth++] = t->node[n].child2;
        }
    }
    return count;
}

/* Returns 1 if a lane's tree, which may come from a damaged snapshot, is one: each node below `fresh` is in the tree
 * once or in the free list once, links go both ways, and the owners of the leaves are less than `owners`, each with the
 * leaf that `leaf` says. */
static inline int tree_is_sound(const links *node, const tree_ends *ends, const int32_t *leaf, int owners) {
    if (ends->fresh < 0 || ends->fresh > TREE_NODES) return 0;
    uint8_t seen[TREE_NODES] = {0};
    int count = 0, leaves = 0;
    for (int n = ends->free; n != NO_NODE; n = node[n].parent) {
        if (n < 0 || n >= ends->fresh || seen[n]) return 0;
        seen[n] = 1;
        count++;
    }
    int stack[TREE_NODES + 2], depth = 0;
    if (ends->root != NO_NODE) {
        if (ends->root < 0 || ends->root >= ends->fresh || node[ends->root].parent != NO_NODE) return 0;
        stack[depth++] = ends->root;
    }
    while (depth > 0) {
        const int n = stack[--depth];
        if (seen[n]) return 0;
        seen[n] = 1;
        count++;
        if (node[n].child1 == NO_NODE) {
            const int owner = node[n].child2;
            if (owner < 0 || owner >= owners || leaf[owner] != n || node[n].height != 0) return 0;
            leaves++;
            continue;
        }
        for (int i = 0; i < 2; i++) {
            const int child = i ? node[n].child2 : node[n].child1;
            if (child < 0 || child >= ends->fresh || node[child].parent != n) return 0;
            if (depth == TREE_NODES) return 0;
            stack[depth++] = child;
        }
        const int a = node[node[n].child1].height, b = node[node[n].child2].height;
        if (a < 0 || b < 0 || node[n].height != 1 + (a > b ? a : b)) return 0;
    }
    for (int i = 0; i < owners; i++) leaves -= leaf[i] != NO_NODE;
    return count == ends->fresh && leaves == 0;
}

#endif
