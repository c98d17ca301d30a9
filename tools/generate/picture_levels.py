"""Draws the sheet of levels in docs/minigrid.png.

    python tools/generate/picture_levels.py [--to docs/minigrid.png]

It needs pygame.
"""

import argparse

import pygame

import batchenv

SIDE, COLUMNS, MARGIN, TITLE = 132, 5, 8, 16  # pixels, and pictures in a row
LEVELS = [
    "Empty-8x8", "DoorKey-8x8", "FourRooms", "MultiRoom-N6", "KeyCorridorS4R3", "LavaCrossingS9N2", "Fetch-8x8-N3",
    "GoToDoor-8x8", "PutNear-8x8-N3", "LockedRoom", "MemoryS13", "ObstructedMaze-Full", "RedBlueDoors-8x8",
    "Dynamic-Obstacles-8x8", "BlockedUnlockPickup",
]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--to", default="docs/minigrid.png")
    to = parser.parse_args().to
    rows = -(-len(LEVELS) // COLUMNS)
    sheet = pygame.Surface((MARGIN + COLUMNS * (SIDE + MARGIN), MARGIN + rows * (SIDE + TITLE + MARGIN)))
    sheet.fill("white")
    pygame.font.init()
    font = pygame.font.Font(None, TITLE)
    for k, level in enumerate(LEVELS):
        env = batchenv.make(f"MiniGrid-{level}-v0", render_mode="rgb_array", tile_size=16)
        env.reset(seed=2)
        picture = pygame.surfarray.make_surface(env.render()[0].transpose(1, 0, 2))
        scale = SIDE / max(picture.get_size())
        picture = pygame.transform.smoothscale(picture, [round(scale * side) for side in picture.get_size()])
        x, y = MARGIN + k % COLUMNS * (SIDE + MARGIN), MARGIN + k // COLUMNS * (SIDE + TITLE + MARGIN)
        sheet.blit(font.render(level, True, "black"), (x, y))
        sheet.blit(picture, (x, y + TITLE))
    pygame.image.save(sheet, to)


if __name__ == "__main__":
    main()
