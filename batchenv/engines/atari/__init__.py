"""Atari games: the emulator's library, the ROMs, and which games and modes there are."""
