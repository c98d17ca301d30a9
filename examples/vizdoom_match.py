"""Several players fight each other in each lane, in Doom: pip install vizdoom.

A lane is a game that one player hosts and the others join over the loopback network: a duel of two, or a deathmatch of
up to sixteen. Each player's engine is a process of its own and waits for the others', so a thread for each player steps
it. If an engine ends or hangs, that lane fails with a message that names the player, and starts a new game. Games with
the same seed begin alike, but do not stay the same: that depends on when packets arrive.

    python examples/vizdoom_match.py --lanes 4
    python examples/vizdoom_match.py --lanes 1 --players 8
"""

import argparse
import contextlib
import os
import random
import signal
import socket
import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path

import numpy as np
import vizdoom
from gymnasium import spaces

import batchenv

BUTTONS = {
    "multi_duel.cfg": ["MOVE_LEFT", "MOVE_RIGHT", "ATTACK"],
    "multi.cfg": ["TURN_LEFT", "TURN_RIGHT", "MOVE_FORWARD", "ATTACK"],
}


class Lost(RuntimeError):
    """A player's engine has ended or does not answer."""


class Match:
    """A game of several players, with PettingZoo's parallel API. Rewards are frags. "player_0" is the host.

    Args:
        players: two have a duel, more a deathmatch.
        seconds: how long an episode takes, in the game's time.
        frame_skip: tics per step.
        patience: seconds that a player may take to answer.
    """

    metadata = {"name": "doom_match", "render_modes": []}

    def __init__(self, players=2, seconds=20.0, frame_skip=4, patience=20.0):
        self.limit, self.frame_skip, self.patience = int(35 * seconds), frame_skip, patience
        self.possible_agents = [f"player_{k}" for k in range(players)]
        self.render_mode, self.agents, self.games = None, [], {}
        self._engines, self._pool = set(), None
        self._scenario = "multi_duel.cfg" if players == 2 else "multi.cfg"
        self._space = spaces.Box(0, 255, (120, 160, 3), np.uint8)
        self._choice = spaces.MultiBinary(len(BUTTONS[self._scenario]))

    def observation_space(self, agent):
        return self._space

    def action_space(self, agent):
        return self._choice

    def reset(self, seed=None, options=None):
        """Starts new engines: a game that both have left cannot be joined again."""
        self._random = random.Random(seed) if seed is not None or not hasattr(self, "_random") else self._random
        number = self._random.randrange(2**31)
        for attempt in range(5):
            self.close()
            try:
                self._start(number, _free_port())
                break
            except Lost:  # most likely somebody else has taken the port
                if attempt == 4:
                    raise
        self.agents, self.count = list(self.possible_agents), 0
        self._frags = dict.fromkeys(self.agents, 0.0)
        return self._pictures(), {agent: {} for agent in self.agents}

    def _start(self, seed, port):
        self._pool = ThreadPoolExecutor(len(self.possible_agents))
        os.makedirs("_vizdoom", exist_ok=True)  # else all engines would make it, and those that come late would end
        for agent in self.possible_agents:
            game = self.games[agent] = vizdoom.DoomGame()
            game.load_config(os.path.join(vizdoom.scenarios_path, self._scenario))
            game.set_available_buttons([getattr(vizdoom.Button, name) for name in BUTTONS[self._scenario]])
            game.set_window_visible(False)
            game.set_screen_resolution(vizdoom.ScreenResolution.RES_160X120)
            game.set_screen_format(vizdoom.ScreenFormat.RGB24)
            game.set_mode(vizdoom.Mode.PLAYER)
            game.set_seed(seed % 2**32)
            mine = f"-join 127.0.0.1:{port}"
            if agent == self.possible_agents[0]:
                mine = f"-host {len(self.possible_agents)} -port {port} -deathmatch +sv_forcerespawn 1"
            game.add_game_args(f"{mine} +name {agent}")
        before = _children()
        try:
            self._together(lambda game, _: game.init())
        finally:
            self._engines = _children() - before

    def _together(self, do, actions=None):
        """Does something for all players at once, since each of their engines waits for the others."""
        tasks = {self._pool.submit(do, game, actions and actions[agent]): agent for agent, game in self.games.items()}
        done, late = wait(tasks, timeout=self.patience, return_when=FIRST_EXCEPTION)
        for task in done:
            if task.exception() is not None:
                raise Lost(f"{tasks[task]} is lost: {task.exception()}") from task.exception()
        if late:
            raise Lost(f"{', '.join(tasks[task] for task in late)} did not answer within {self.patience} s")

    def _pictures(self):
        states = {agent: game.get_state() for agent, game in self.games.items()}
        return {agent: np.array(state.screen_buffer) for agent, state in states.items()}

    def step(self, actions):
        numbers = {agent: action.astype(float).tolist() for agent, action in actions.items()}
        for _ in range(self.frame_skip):  # tic by tic: an engine that goes on before the other waits for ever
            self._together(lambda game, action: game.make_action(action), numbers)
        self.count += self.frame_skip
        frags = {a: g.get_game_variable(vizdoom.GameVariable.FRAGCOUNT) for a, g in self.games.items()}
        rewards = {agent: frags[agent] - self._frags[agent] for agent in self.agents}
        self._frags = frags
        over = self.count >= self.limit
        told = self._pictures(), rewards, dict.fromkeys(frags, False), dict.fromkeys(frags, over)
        infos = {agent: {"frags": frags[agent]} for agent in self.agents}
        if over:
            self.agents = []
        return (*told, infos)

    def close(self):
        """Ends the engines first: one whose partner is lost would wait for it, and our thread for that engine."""
        for pid in self._engines & _children():
            os.kill(pid, signal.SIGKILL)
        self._engines = set()
        if self._pool is not None:
            self._pool.shutdown()
        games, self.games = list(self.games.values()), {}
        for game in games:
            with contextlib.suppress(Exception):
                game.close()


def _children():
    """Processes that this one has started."""
    return {int(pid) for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()}


def _free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def main():
    """Steps all lanes with random actions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument("--players", type=int, default=2)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="20 steps of a lane")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.lanes, arguments.steps = 1, 20
    lanes, kinds = arguments.lanes, {"players": arguments.players}
    env = batchenv.make_parallel(Match, lanes, num_workers=lanes, step_timeout=120.0, env_kwargs=kinds)
    observations, _ = env.reset(seed=0)
    rng, total, start = np.random.default_rng(0), dict.fromkeys(env.agents, 0.0), time.perf_counter()
    for _ in range(arguments.steps):
        actions = {agent: rng.integers(2, size=(lanes, *env.action_space(agent).shape)) for agent in env.agents}
        observations, rewards, *_ = env.step(actions)
        total = {agent: total[agent] + rewards[agent].sum() for agent in env.agents}
    speed = arguments.steps * lanes / (time.perf_counter() - start)
    print(f"observations {observations['player_0'].shape}, frags {total}, {speed:.0f} steps of all players per second")
    env.close()


if __name__ == "__main__":
    main()
