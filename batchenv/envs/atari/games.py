"""The Atari games: which ROMs, and the ids they go by."""

from __future__ import annotations

from typing import Any, NamedTuple


class Game(NamedTuple):
    """A game.

    md5: of the ROM; any other file is refused, since the emulator ends the process over one that it does not know.
    palette: the television standard of its colours. tall: a screen of 256 rows. legacy: it has the ids of
        2018 too, such as PongNoFrameskip-v4.
    ends_without_lives: libale_c misses the end of some games; it comes when no lives are left.
    actions: those that mean something in the game, where libale_c's list is not ale-py's; else empty.
    lives: added to libale_c's count of lives to make it ale-py's; -1: one until the game is over.
    These three hold for one player.
    settle: frames after a reset whose state libale_c cannot restore: no picture is drawn while the game sets itself up.
    """

    md5: str
    palette: str = "NTSC"
    legacy: bool = True
    lives: int = 0
    ends_without_lives: bool = False
    actions: tuple[int, ...] = ()
    tall: bool = False
    settle: int = 0

    @property
    def height(self) -> int:
        """Rows of the screen."""
        return 256 if self.tall else 250 if self.palette == "PAL" else 210


# All that ale-py ships and libale_c knows. GAMES have a single-player id in ale-py; the other four are for two or more.
TWO_PLAYER_GAMES = {
    "combat": Game("0ef64cdbecccb7049752a3de0b7ade14", palette="PAL", tall=True),
    "joust": Game("3276c777cbe97cdd2b4a63ffc16b7151"),
    "maze_craze": Game("ed2218b3075d15eaa34e3356025ccca3", palette="PAL", settle=120),
    "warlords": Game("cbe5a166550a8129a5e6d374901dffad"),
}
GAMES = {
    "adventure": Game("4b27f5397c442d25f0c418ccdacf1926", palette="PAL"),
    "air_raid": Game("35be55426c1fec32dfb503b4f0651572", palette="PAL", lives=-1),
    "alien": Game("f1a0a23e6464d954e3a9579c4ccd01c8"),
    "amidar": Game("acb7750b4d0c4bd34969802a7deb2990"),
    "assault": Game("de78b3a064d374390ac0710f95edde92"),
    "asterix": Game("89a68746eff7f266bbf08de2483abe55"),
    "asteroids": Game("ccbd36746ed4525821a8083b0d6d2c2c"),
    "atlantis": Game("9ad36e699ef6f45d9eb6c4cf90475c9f"),
    "atlantis2": Game("826481f6fc53ea47c9f272f7050eedf7", legacy=False),
    "backgammon": Game("8556b42aa05f94bc29ff39c39b11bff4", legacy=False, lives=-1),
    "bank_heist": Game("00ce0bdd43aed84a983bef38fe7f5ee3"),
    "basic_math": Game("819aeeb9a2e11deb54e6de334f843894", legacy=False, lives=-1),
    "battle_zone": Game("41f252a66c6301f1e8ab3612c19bc5d4"),
    "beam_rider": Game("79ab4123a83dc11d468fb2108ea09e2e"),
    "berzerk": Game("136f75c4dd02c29283752b7e5799f978"),
    "blackjack": Game("0a981c03204ac2b278ba392674682560", legacy=False, lives=-1),
    "bowling": Game("c9b7afad3bfd922e006a6bfc1d4f3fe7"),
    "boxing": Game("c3ef5c4653212088eda54dc91d787870"),
    "breakout": Game("f34f08e5eb96e500e851a80be3277a56"),
    "carnival": Game("028024fb8e5e5f18ea586652f9799c96"),
    "casino": Game("b816296311019ab69a21cb9e9e235d12", legacy=False, lives=-1),
    "centipede": Game("91c2098e88a6b13f977af8c003e0bca5"),
    "chopper_command": Game("c1cb228470a87beb5f36e90ac745da26", ends_without_lives=True),
    "crazy_climber": Game("55ef7b65066428367844342ed59f956c"),
    "crossbow": Game("8cd26dcf249456fe4aeb8db42d49df74", legacy=False, lives=-1),
    "darkchambers": Game("106855474c69d08c8ffa308d47337269", legacy=False, lives=-1),
    "defender": Game("0f643c34e40e3f1daafd9c524d3ffe64"),
    "demon_attack": Game("f0e0addc07971561ab80d9abe1b8d333"),
    "donkey_kong": Game("36b20c427975760cb9cf4a47e41369e4", legacy=False),
    "double_dunk": Game("368d88a6c071caba60b4f778615aae94"),
    "earthworld": Game("5aea9974b975a6a844e6df10d2b861c4", legacy=False, lives=-1),
    "elevator_action": Game("71f8bacfbdca019113f3f0801849057e"),
    "enduro": Game("94b92a882f6dbaa6993a46e2dcc58402"),
    "entombed": Game("6b683be69f92958abe0e2a9945157ad5", legacy=False, lives=-1),
    "et": Game("615a3bf251a38eb6638cdc7ffbde5480", legacy=False),
    "fishing_derby": Game("b8865f05676e64f3bec72b9defdacfa7"),
    "flag_capture": Game("30512e0e83903fc05541d2f6a6a62654", legacy=False, lives=-1, actions=tuple(range(18))),
    "freeway": Game("8e0ab801b1705a740b476b7f588c6d16"),
    "frogger": Game("081e2c114c9c20b61acf25fc95c71bf4", legacy=False),
    "frostbite": Game("4ca73eb959299471788f0b685c3ba0b5"),
    "galaxian": Game("211774f4c5739042618be8ff67351177", legacy=False),
    "gopher": Game("c16c79aad6272baffb8aae9a7fff0864"),
    "gravitar": Game("8ac18076d01a6b63acf6e2cab4968940"),
    "hangman": Game("f16c709df0a6c52f47ff52b9d95b7d8d", legacy=False, lives=-1),
    "haunted_house": Game("f0a6e99f5875891246c3dbecbf2d2cea", legacy=False),
    "hero": Game("fca4a5be1251927027f2c24774a02160"),
    "human_cannonball": Game("7972e5101fa548b952d852db24ad6060", legacy=False, lives=-1),
    "ice_hockey": Game("a4c08c4994eb9d24fb78be1793e82e26"),
    "jamesbond": Game("e51030251e440cffaab1ac63438b44ae"),
    "journey_escape": Game("718ae62c70af4e5fd8e932fee216948a"),
    "kaboom": Game("5428cdfada281c569c74c7308c7f2c26", legacy=False, lives=-1),
    "kangaroo": Game("4326edb70ff20d0ee5ba58fa5cb09d60"),
    "keystone_kapers": Game("6c1f3f2e359dbf55df462ccbcdd2f6bf", palette="PAL", legacy=False),
    "king_kong": Game("0dd4c69b5f9a7ae96a7a08329496779a", palette="PAL", legacy=False),
    "klax": Game("eed9eaf1a0b6a2b9bc4c8032cb43e3fb", palette="PAL", legacy=False, lives=-1),
    "koolaid": Game("534e23210dd1993c828d944c6ac4d9fb", legacy=False),
    "krull": Game("4baada22435320d185c95b7dd2bcdb24"),
    "kung_fu_master": Game("5b92a93b23523ff16e2789b820e2a4c5"),
    "laser_gates": Game("8e4cd60d93fcde8065c1a2b972a26377", palette="PAL", legacy=False),
    "lost_luggage": Game("2d76c5d1aad506442b9e9fb67765e051", legacy=False),
    "mario_bros": Game("e908611d99890733be31733a979c62d8", legacy=False, lives=1),
    "miniature_golf": Game("df62a658496ac98a3aa4a6ee5719c251", legacy=False, lives=-1),
    "montezuma_revenge": Game("3347a6dd59049b15a38394aa2dafa585"),
    "mr_do": Game("aa7bb54d2c189a31bb1fa20099e42859", palette="PAL", legacy=False),
    "ms_pacman": Game("87e79cd41ce136fd4f72cc6e2c161bee"),
    "name_this_game": Game("36306070f0c90a72461551a7a4f3a209"),
    "othello": Game("113cd09c9771ac278544b7e90efe7df2", legacy=False, lives=-1),
    "pacman": Game("fc2233fc116faef0d3c31541717ca2db", palette="PAL", legacy=False),
    "phoenix": Game("7e52a95074a66640fcfde124fffd491a"),
    "pitfall": Game("3e90cf23106f2e08b2781e41299de556"),
    "pitfall2": Game("6d842c96d5a01967be9680080dd5be54", legacy=False),
    "pong": Game("60e0ea3cbe0913d39803477945e9e5ec"),
    "pooyan": Game("4799a40b6e889370b7ee55c17ba65141"),
    "private_eye": Game("ef3a4f64b6494ba770862768caf04b86"),
    "qbert": Game("484b0076816a104875e00467d431c2d2"),
    "riverraid": Game("393948436d1f4cc3192410bb918f9724"),
    "road_runner": Game("ce5cc62608be2cd3ed8abd844efb8919"),
    "robotank": Game("4f618c2429138e0280969193ed6c107e"),
    "seaquest": Game("240bfbac5163af4df5ae713985386f92"),
    "sir_lancelot": Game("dd0cbe5351551a538414fb9e37fc56e8", palette="PAL", legacy=False),
    "skiing": Game("b76fbadc8ffb1f83e2ca08b6fb4d6c9f"),
    "solaris": Game("e72eb8d4410152bdcb69e7fba327b420"),
    "space_invaders": Game("72ffbef6504b75e69ee1045af9075f66", lives=1),
    "space_war": Game("b702641d698c60bcdc922dbd8c9dd49c", palette="PAL", legacy=False, lives=-1),
    "star_gunner": Game("a3c1c70024d7aabb41381adbfb6d3b25"),
    "superman": Game("a9531c763077464307086ec9a1fd057d", legacy=False, lives=-1),
    "surround": Game("4d7517ae69f95cfbc053be01312b7dba", legacy=False, lives=-1),
    "tennis": Game("42cdd6a9e42a3639e190722b8ea3fc51"),
    "tetris": Game("b0e1ee07fbc73493eac5651a52f90f00", legacy=False),
    "tic_tac_toe_3d": Game("0db4f4150fecf77e4ce72ca4d04c052f", legacy=False, lives=-1),
    "time_pilot": Game("fc2104dd2dadf9a6176c1c1c8f87ced9"),
    "trondead": Game("fb27afe896e7c928089307b32e5642ee", legacy=False),
    "turmoil": Game("7a5463545dfb2dcfdafa6074b2f2c15e", legacy=False),
    "tutankham": Game("085322bae40d904f53bdcc56df0593fc"),
    "up_n_down": Game("a499d720e7ee35c62424de882a3351b6"),
    "venture": Game("3e899eba0ca8cd2972da1ae5479b4f0d"),
    "video_checkers": Game("539d26b6e9df0da8e7465f0f5ad863b7", legacy=False, lives=-1),
    "video_chess": Game("f0b7db930ca0e548c41a97160b9f6275", legacy=False),
    "video_cube": Game("3f540a30fdee0b20aed7288e4a5ea528", legacy=False, lives=-1),
    "video_pinball": Game("107cc025334211e6d29da0b6be46aec7"),
    "wizard_of_wor": Game("7e8aa18bc9502eb57daaf5e7c1e94da7", lives=1, actions=(0, 1, 2, 3, 4, 5, 10, 11, 12, 13)),
    "word_zapper": Game("ec3beb6d8b5689e867bafb5d5f507491", legacy=False, lives=-1),
    "yars_revenge": Game("c5930d0e8cdae3e037349bfa08e871be"),
    "zaxxon": Game("eea0da9b987d661264cce69a7c13c3bd"),
}

# Keywords of the ids, beside "game". docs/envs/atari.md has them in a table.
ALE_V5 = {"repeat_action_probability": 0.25, "reward_clipping": True}
ENVPOOL_V5: dict[str, Any] = {"max_num_frames_per_episode": 0}
NO_FRAMESKIP_V4 = {
    "obs_type": "rgb",
    "img_height": None,
    "img_width": None,
    "stack_num": None,
    "frameskip": 1,
    "noop_max": 0,
    "use_fire_reset": False,
}
ENVPOOL_STEPS = 27000
PLAYERS = {"combat": 2, "joust": 2, "maze_craze": 2, "warlords": 4}


def about(game: str) -> Game:
    """What is known of a game.

    Raises:
        ValueError: there is none of that name.
    """
    known = GAMES.get(game) or TWO_PLAYER_GAMES.get(game)
    if known is None:
        raise ValueError(f"game={game!r} cannot be played: it must be one of batchenv.envs.atari.games.GAMES")
    return known


def ids() -> dict[str, tuple[int | None, dict[str, Any]]]:
    """Every Atari id: its step limit and its keywords."""
    table: dict[str, tuple[int | None, dict[str, Any]]] = {}
    for game, about in GAMES.items():
        name = game.title().replace("_", "")
        table[f"ALE/{name}-v5"] = None, {"game": game, **ALE_V5}
        # EnvPool writes TicTacToe3d where ale-py writes TicTacToe3D.
        name = "".join(word.capitalize() for word in game.split("_"))
        table[f"{name}-v5"] = ENVPOOL_STEPS, {"game": game, **ENVPOOL_V5}
        if about.legacy:
            table[f"{name}NoFrameskip-v4"] = None, {"game": game, **NO_FRAMESKIP_V4}
    for game, players in PLAYERS.items():
        name = "".join(word.capitalize() for word in game.split("_"))
        table[f"{name}-v5"] = ENVPOOL_STEPS, {"game": game, "players": players, **ENVPOOL_V5}
    return table
