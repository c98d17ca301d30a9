"""Random models for MuJoCo, as XML."""

import numpy as np

from helpers.mujoco import mujoco
from helpers.random_scenes import Scene
from helpers.random_smooth import Smooth
from helpers.random_tendons import Cords

NAMED = ("body", "geom", "site", "ball", "free", "actuator", "limited_joint", "limited_tendon")
CONTACT_FIELDS = ("found", "force", "torque", "dist", "pos", "normal", "tangent")
SITE_SENSORS = ("accelerometer", "velocimeter", "gyro", "force", "torque", "magnetometer", "rangefinder")
BODY_SENSORS = ("subtreecom", "subtreelinvel", "subtreeangmom")
JOINT_SENSORS = ("jointpos", "jointvel", "jointactuatorfrc")
TENDON_SENSORS = ("tendonpos", "tendonvel", "tendonactuatorfrc")
ACTUATOR_SENSORS = ("actuatorpos", "actuatorvel", "actuatorfrc")
OTHER_SENSORS = ("clock", "e_potential", "distance", "normal", "fromto")
FRAME_SENSORS = (
    *("framepos", "framequat", "framexaxis", "frameyaxis", "framezaxis", "framelinvel", "frameangvel"),
    *("framelinacc", "frameangacc"),
)


class Model:
    """A random model as XML."""

    def __init__(self, seed):
        self.rng, self.smooth, self.cords = np.random.default_rng(seed), Smooth(seed), Cords(seed)
        self.joints, self.made, self.places = [], 0, []
        self.named = {kind: [] for kind in NAMED}
        self.rubs = self.chance(0.4)
        options = self.options()
        trees = self.pick(1, 1, 1, 1, 2)
        bodies = "".join(self.tree(3 * k) for k in range(trees))
        bodies += "".join(self.lone_body() for _ in range(self.pick(1, 1, 2)) if self.chance(0.15))
        bodies += self.cords.site(scale=1)
        surface, tilt = self.surface(), self.turned(0.1) if self.chance(0.3) else ""
        plane = f'<geom name="plane" type="plane" size="9 9 1" {surface} {tilt}/>'
        actuators, tendons = self.actuators(), self.tendons()
        if self.chance(0.5):
            tendons += self.more_tendons()
            actuators += self.servos()
        tendons += self.spatial()
        actuators += self.cords.sliders()
        places = [*self.places, *(f'joint="{name}"' for name in self.joints)]
        joints = [*self.joints, *self.named["ball"], *self.named["free"], *self.named["free"]]
        actuators += f"<actuator>{self.smooth.actuators(places, joints, self.named['site'])}</actuator>"
        contacts, equalities = self.contacts(), self.equalities() if self.chance(0.2) else ""
        mass, inertia, flags, decoration = self.bound(), self.bound(), self.flags(), self.decoration()
        self.rng = np.random.default_rng((seed, 1))  # so that the rest of a model does not depend on its sensors
        sensors, site = self.sensors(), self.pick("sphere", "capsule", "ellipsoid", "cylinder", "box")
        self.rng = np.random.default_rng((seed, 3))
        equalities += self.site_equalities()
        scene = Scene(seed)
        contacts += scene.contacts(self.named["body"], self.named["geom"])
        self.text = (
            f'<mujoco><compiler angle="radian" boundmass="{mass}" boundinertia="{inertia}"/>'
            f"<option {self.attributes(options | self.smooth.options())}>{flags}</option>"
            f'<default><site type="{site}" size="{self.numbers(3, 0.02, 0.3)}"/></default>'
            f"{scene.assets}<worldbody>{plane}{decoration}{bodies}{scene.world}</worldbody>{contacts}{tendons}{actuators}{sensors}"
            f"<equality>{equalities}</equality></mujoco>"
        )

    def chance(self, share):
        return self.rng.random() < share

    def pick(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def name(self, kind):
        """The attribute that names the next thing of NAMED."""
        self.named[kind].append(f"{kind}{len(self.named[kind])}")
        return f'name="{self.named[kind][-1]}"'

    def number(self, low, high):
        return float(f"{self.rng.uniform(low, high):.4g}")

    def numbers(self, count, low, high):
        return " ".join(str(self.number(low, high)) for _ in range(count))

    def magnitude(self, low, high):
        """A number whose exponent is drawn evenly."""
        return float(f"{10 ** self.rng.uniform(np.log10(low), np.log10(high)):.4g}")

    def options(self):
        """Attributes of <option>, such as the few iterations and line searches that robots for GPUs have."""
        values = {
            "timestep": self.pick(0.001, 0.002, 0.005, 0.01),
            "integrator": self.pick("Euler", "Euler", "RK4", "implicitfast", "implicit"),
            "solver": self.pick("Newton", "Newton", "Newton", "PGS", "PGS", "CG"),
            "cone": self.pick("pyramidal", "pyramidal", "elliptic"),
            "jacobian": self.pick("auto", "auto", "dense", "sparse"),
            "iterations": self.pick(100, 50, 5, 3, 2, 1, 1),
            "ls_iterations": self.pick(50, 20, 8, 6, 5, 4, 3, 2, 1),
            "tolerance": self.pick(1e-8, 1e-8, 1e-4, 1e-2, 0, 1e-15),
            "ls_tolerance": self.pick(0.01, 0.01, 0.1, 0.5, 1e-6, 0),
            "impratio": self.pick(1, 1, 1, 5, 100, 0.1),
        }
        if self.chance(0.2):
            values.update(density=self.number(1, 2000), viscosity=self.pick(0, self.number(0, 1)))
            values["wind"] = self.pick("0 0 0", self.numbers(3, -5, 5))
        if self.chance(0.1):
            values["gravity"] = self.numbers(3, -20, 20)
        if self.chance(0.03):
            values["noslip_iterations"] = self.pick(1, 5)
        if self.chance(0.05):
            values.update(o_margin=self.number(0, 0.1))
        return values

    def bound(self):
        """The least mass or inertia of a body: 0, or a tiny number, with which inertias are nearly singular."""
        return self.magnitude(1e-14, 1e-3) if self.chance(0.1) else 0

    def decoration(self):
        """What does not move by itself: bodies without joints, mocap bodies, sites."""
        parts = ""
        if self.chance(0.3):
            size, place = self.numbers(3, 0.03, 0.4), self.numbers(3, -0.3, 0.3)
            parts += f'<geom type="box" size="{size}" pos="{place}" {self.turned()} {self.surface()}/>'
        if self.chance(0.15):
            place = f'pos="{self.numbers(3, -1, 1)}" {self.turned()}'
            parts += f'<body {self.name("body")} mocap="true" {place}>{self.geom()}</body>'
        if self.chance(0.15):
            place = f'pos="{self.numbers(3, -1, 1)}" {self.turned()}'
            parts += f"<body {self.name('body')} {place}>{self.geom()}<site {self.name('site')}/></body>"
        return parts

    def mass(self):
        """The mass of a geom, from a grain of dust to a mountain."""
        if self.chance(0.9):
            return ""
        return f'mass="{self.magnitude(1e-9, 1e6)}"'

    def inertial(self):
        """An inertia of a body's own, which may be nearly that of a point or a needle."""
        if self.chance(0.93):
            return ""
        axis = self.magnitude(1e-13, 10)
        small = self.pick(axis, axis, 1e-14 if self.chance(0.5) else axis)
        axes = [small, axis, axis] if self.chance(0.5) else [axis, axis, small]
        return (
            f'<inertial pos="{self.numbers(3, -0.1, 0.1)}" mass="{self.magnitude(1e-9, 1e3)}" '
            f'diaginertia="{" ".join(map(str, axes))}" {self.turned() if self.chance(0.5) else ""}/>'
        )

    def turned(self, scale=3.0):
        return f'euler="{self.numbers(3, -scale, scale)}"'

    @staticmethod
    def attributes(values):
        return " ".join(f'{name}="{value}"' for name, value in values.items())

    def curve(self, end=""):
        """solref and solimp."""
        if self.chance(0.4):
            return ""
        ref = f"{self.number(0.002, 0.1)} {self.number(0.3, 1.5)}"
        if self.chance(0.2):
            ref = f"{self.number(-900, -10)} {self.number(-60, -1)}"
        low = self.number(0.1, 0.95)
        high = self.pick(low, self.number(low, 0.99))
        power = self.pick(1, 2, 2, self.number(1, 4))
        width, middle = self.number(0.001, 0.1), self.number(0.1, 0.9)
        return f'solref{end}="{ref}" solimp{end}="{low} {high} {width} {middle} {power}"'

    def surface(self):
        more = f'friction="{self.numbers(3, 0.001, 1.5)}" condim="{self.pick(1, 3, 3, 3, 4, 6)}" {self.curve()}'
        if self.chance(0.3):
            more += f' margin="{self.number(0, 0.05)}"'
        if self.chance(0.1):
            more += f' gap="{self.number(0, 0.01)}"'
        if self.chance(0.2):
            more += f' priority="{self.pick(0, 1)}" solmix="{self.pick(0, 0.5, 2)}"'
        return more

    def contacts(self):
        """Pairs of geoms with contacts of their own, of which some would be found anyway."""
        pairs = ""
        for _ in range(self.pick(1, 2, 5) if self.chance(0.3) else 0):
            one, two = self.rng.choice(["plane", *self.named["geom"]], 2, replace=False)
            values = {"geom1": one, "geom2": "plane" if self.chance(0.5) and one != "plane" else two}
            if self.chance(0.8):
                values["condim"] = self.pick(1, 3, 3, 4, 6)
            if self.chance(0.8):
                values["friction"] = self.numbers(5, 0.001, 1.5)
            if self.chance(0.5):
                values["margin"] = self.number(0, 0.1)
            if self.chance(0.3):
                values["gap"] = self.number(0, 0.1)
            pairs += f"<pair {self.attributes(values)} {self.curve()}/>"
        return f"<contact>{pairs}</contact>"

    def geom(self):
        kind = self.pick("sphere", "capsule", "capsule", "capsule", "cylinder", "box", "box", "ellipsoid")
        sizes = {"sphere": 1, "capsule": 2, "cylinder": 2}.get(kind, 3)
        affinity = "" if self.chance(0.3) else 'contype="1" conaffinity="0"'  # touches the plane only
        place = f'pos="{self.numbers(3, -0.1, 0.1)}" {self.turned()}' if self.chance(0.7) else ""
        size, name = f'size="{self.numbers(sizes, 0.03, 0.2)}"', self.name("geom")
        self.cords.round += [self.named["geom"][-1]] if kind in ("sphere", "cylinder") else []
        return f'<geom {name} type="{kind}" {size} {place} {affinity} {self.mass()} {self.surface()}/>'

    def joint(self, last=True):
        """A joint. Of a body's joints only the last one may be a ball."""
        self.made += 1
        name = f"j{self.made}"
        kind = self.pick("hinge", "hinge", "hinge", "slide", *["ball"] * last)
        if kind == "ball":
            self.named["ball"].append(name)
        values = {"name": name, "type": kind, "pos": self.numbers(3, -0.1, 0.1)}
        if kind != "ball":
            values["axis"] = self.pick("1 0 0", "0 1 0", "0 0 1", self.numbers(3, 0.1, 1))
            self.joints.append(name)
            if self.chance(0.5):
                values.update(limited="true", range=f"{self.number(-1, 0)} {self.number(0, 1)}")
                self.named["limited_joint"].append(name)
            if self.chance(0.2):
                values.update(margin=self.number(0, 0.1))
            if self.chance(0.3):
                values.update(stiffness=self.number(0, 20), springref=self.number(-0.5, 0.5))
            if self.chance(0.15):
                reach = f"{self.number(-5, 0)} {self.number(0, 5)}"
                values.update(actuatorfrclimited="true", actuatorfrcrange=reach)
        if self.chance(0.5):
            values["damping"] = self.number(0, 2)
        if self.chance(0.3):
            values["armature"] = self.number(0, 0.5)
        self.smooth.spring(kind != "ball", values)
        curve = self.curve("limit") if kind != "ball" else ""
        return f"<joint {self.attributes(values)} {curve} {self.friction_loss()} {self.smooth.joint()}/>"

    def friction_loss(self):
        if not self.rubs or self.chance(0.4):
            return ""
        return f'frictionloss="{self.pick(self.number(0, 0.5), self.number(0, 5))}" {self.curve("friction")}'

    def body(self, depth):
        geoms = "".join(self.geom() for _ in range(self.pick(1, 1, 1, 2)))
        count = self.pick(0, 1, 1, 1, 2)
        joints = "".join(self.joint(last=k == count - 1) for k in range(count))
        site = ""
        if self.chance(0.2):
            site = f'<site {self.name("site")} pos="{self.numbers(3, -0.1, 0.1)}" {self.turned()}/>'
        site += self.cords.site()
        children = "".join(self.body(depth + 1) for _ in range(self.pick(0, 1, 1, 2) if depth < 4 else 0))
        place = f'pos="{self.numbers(3, -0.3, 0.3)}" {self.turned() if self.chance(0.5) else ""}'
        place += self.smooth.body()
        return f"<body {self.name('body')} {place}>{self.inertial()}{joints}{geoms}{site}{children}</body>"

    def tree(self, where):
        root = self.free() if self.chance(0.5) else '<joint type="slide" axis="0 0 1"/>' + self.joint()
        geoms, child = self.geom(), self.body(1)
        place = f'{self.name("body")} pos="{where} 0 {self.number(0.1, 0.7)}" {self.smooth.body()}'
        return f"<body {place}>{root}{geoms}{child}{self.body(2)}</body>"

    def lone_body(self):
        """A body with a free joint, alone in its tree. What is fixed to it may or may not have a mass."""
        place = f'{self.name("body")} pos="{self.numbers(2, -3, 3)} {self.number(0.1, 0.7)}" {self.turned()}'
        damped = f'<joint type="free" damping="{self.number(0, 1)}"/>'
        joint = damped if self.chance(0.3) else self.free()
        geom = self.geom() if self.chance(0.5) else ""
        fixed = f"<body {self.name('body')}>{geom}</body>" if self.chance(0.2) else ""
        return f"<body {place}>{joint}{self.inertial()}{self.geom()}{fixed}{self.cords.site()}</body>"

    def free(self):
        values = {}
        self.smooth.spring(False, values)
        return (
            f"<joint {self.name('free')} type='free' {self.attributes(values)}/>"
            if values
            else f"<freejoint {self.name('free')}/>"
        )

    def actuators(self):
        chosen = [name for name in self.joints if self.chance(0.6)] or self.joints[:1]
        limit = self.pick('ctrlrange="-1 1" ctrllimited="true"', "")
        motors = "".join(
            f'<motor {self.name("actuator")} joint="{name}" gear="{self.number(-20, 20)}" {limit}/>' for name in chosen
        )
        return f"<actuator>{motors}</actuator>"

    def tendons(self):
        if len(self.joints) < 3 or self.chance(0.8):
            return ""
        parts = "".join(f'<joint joint="{name}" coef="{self.number(-1, 1)}"/>' for name in self.joints[:2])
        return f"<tendon><fixed>{parts}</fixed></tendon>"

    def more_tendons(self):
        """With springs, dampers and limits, over any joints in any order."""
        tendons = ""
        for k in range(self.pick(0, 1, 2) if self.joints else 0):
            chosen = self.rng.permutation(self.joints)[: self.rng.integers(1, 7)]
            parts = "".join(f'<joint joint="{name}" coef="{self.number(-1, 1)}"/>' for name in chosen)
            values = {"name": f"t{k}"}
            if self.chance(0.5):
                values.update(stiffness=self.number(0, 20), springlength=self.numbers(1, -0.5, 0.5))
            if self.chance(0.3):
                values["springlength"] = f"{self.number(-0.5, 0)} {self.number(0, 0.5)}"
            if self.chance(0.5):
                values["damping"] = self.number(0, 2)
            if self.chance(0.3):
                reach = f"{self.number(-1, 0)} {self.number(0, 1)}"
                values.update(limited="true", range=reach, margin=self.pick(0, 0.1))
                self.named["limited_tendon"].append(f"t{k}")
            self.smooth.tendon(values)
            tendons += f"<fixed {self.attributes(values)} {self.friction_loss()}>{parts}</fixed>"
            self.places.append(f'tendon="t{k}"')
        return f"<tendon>{tendons}</tendon>"

    def spatial(self):
        text, names = self.cords.tendons(self.friction_loss)
        self.places += [f'tendon="{name}"' for name in names]
        self.named["limited_tendon"] += [name for name, limited in names.items() if limited]
        return text

    def servos(self):
        """Actuators whose forces depend on where they are, at joints and tendons."""
        places = [*self.places, *(f'joint="{name}"' for name in self.joints)]
        servos = ""
        for _ in range(self.pick(1, 2, 4) if places else 0):
            kind = self.pick("position", "velocity", "motor", "general", "damper")
            values = {
                "position": {"kp": self.number(0, 50), "kv": self.number(0, 2)},
                "velocity": {"kv": self.number(0, 5)},
                "damper": {"kv": self.number(0, 5), "ctrlrange": "0 1"},
                "general": {
                    **{"gaintype": self.pick("fixed", "affine"), "gainprm": self.numbers(3, -5, 5)},
                    **{"biastype": self.pick("none", "affine"), "biasprm": self.numbers(3, -5, 0)},
                },
            }.get(kind, {})
            if self.chance(0.4):
                values["forcerange"] = f"{self.number(-3, 0)} {self.number(0, 3)}"
            servos += (
                f'<{kind} {self.name("actuator")} {places[self.rng.integers(len(places))]} gear="{self.number(-3, 3)}" '
            )
            servos += f"{self.attributes(values)}/>"
        return f"<actuator>{servos}</actuator>"

    def equalities(self):
        found = ""
        for _ in range(self.pick(1, 1, 2)):
            body1, body2 = self.pick(*self.named["body"]), self.pick("world", *self.named["body"])
            more = f'{self.curve()} active="{self.pick("true", "true", "true", "false")}"'
            kind = self.pick("joint", "joint", "joints", "connect", "weld", "tendon")
            if kind == "connect" and body1 != body2:
                found += f'<connect body1="{body1}" body2="{body2}" anchor="{self.numbers(3, -0.2, 0.2)}" {more}/>'
            elif kind == "weld" and body1 != body2:
                found += f'<weld body1="{body1}" body2="{body2}" torquescale="{self.number(0.1, 2)}" {more}/>'
            elif kind == "tendon" and self.places:
                found += f"<tendon {self.places[-1].replace('tendon', 'tendon1')} {more}/>"
            elif self.joints:
                second = f'joint2="{self.pick(*self.joints)}"' if kind == "joints" else ""
                curve = f'polycoef="{self.numbers(5, -0.5, 0.5)}"'
                found += f'<joint joint1="{self.joints[0]}" {second} {curve} {more}/>'
        return found

    def site_equalities(self):
        """Of sites, and of two tendons."""
        found, tendons = "", [place.split('"')[1] for place in self.places if place.startswith("tendon")]
        pairs = [(kind, names) for kind, names in (("site", self.named["site"]), ("tendon", tendons)) if len(names) > 1]
        for _ in range(self.pick(1, 1, 2) if pairs and self.chance(0.15) else 0):
            kind, names = self.pick(*pairs)
            one, two = self.rng.choice(names, 2, replace=False)
            name = self.pick("connect", "weld") if kind == "site" else "tendon"
            found += f'<{name} {kind}1="{one}" {kind}2="{two}" {self.curve()}/>'
        return found

    def sensors(self):
        """Of all kinds, in any order."""
        tendons = [place.split('"')[1] for place in self.places]
        frames = [("body", name) for name in [*self.named["body"], "world"]]
        frames += [("xbody", name) for _, name in frames]
        frames += [(kind, name) for kind in ("geom", "site") for name in self.named[kind]]
        owners = {
            **{kind: ("site", self.named["site"]) for kind in (*SITE_SENSORS, "touch")},
            **{kind: ("body", self.named["body"]) for kind in BODY_SENSORS},
            **{kind: ("joint", self.joints) for kind in JOINT_SENSORS},
            **{kind: ("joint", self.named["ball"]) for kind in ("ballquat", "ballangvel")},
            **{kind: ("tendon", tendons) for kind in TENDON_SENSORS},
            **{kind: ("actuator", self.named["actuator"]) for kind in ACTUATOR_SENSORS},
            "jointlimitpos": ("joint", self.named["limited_joint"]),
            "tendonlimitpos": ("tendon", self.named["limited_tendon"]),
        }
        parts = ""
        for _ in range(self.pick(0, 2, 5)):
            parts += self.contact_sensor()
        for _ in range(self.pick(0, 4, 12)):
            kind = "touch" if self.chance(0.1) else self.pick(*owners, *FRAME_SENSORS, *FRAME_SENSORS, *OTHER_SENSORS)
            cut = self.chance(0.3) and not kind.endswith(("axis", "quat"))
            values = {"cutoff": self.magnitude(0.01, 10)} if cut else {}
            if kind in FRAME_SENSORS:
                values["objtype"], values["objname"] = self.pick(*frames)
                if kind not in ("framelinacc", "frameangacc") and self.chance(0.4):
                    values["reftype"], values["refname"] = self.pick(*frames)
            elif kind in ("distance", "normal", "fromto"):
                values.update(geom1="plane", body2=self.pick(*self.named["body"]), cutoff=self.magnitude(0.01, 10))
            elif kind not in ("clock", "e_potential"):
                attribute, names = owners[kind]
                if not names:
                    continue
                values[attribute] = self.pick(*names)
            parts += f"<{kind} {self.attributes(values)}/>"
        return f"<sensor>{parts}</sensor>"

    def contact_sensor(self):
        if not hasattr(mujoco.mjtSensor, "mjSENS_CONTACT"):
            return ""
        values = {}
        bodies = [*self.named["body"], "world"]
        names = {"geom": [*self.named["geom"], "plane", "plane"], "body": bodies, "subtree": bodies}
        for side in (1, 2):
            if self.chance(0.7):
                kind = self.pick(*names)
                values[f"{kind}{side}"] = self.pick(*names[kind])
        if not {"geom1", "body1", "subtree1"} & set(values) and self.named["site"] and self.chance(0.05):
            values["site"] = self.pick(*self.named["site"])
        fields = [name for name in CONTACT_FIELDS if self.chance(0.4)] or ["found"]
        values["data"] = " ".join(fields)
        values["reduce"] = self.pick("none", "mindist", "maxforce", "netforce")
        values["num"] = 1 if values["reduce"] == "netforce" else self.pick(1, 1, 2, 4)
        return f"<contact {self.attributes(values)}/>"

    def flags(self):
        smooth = ("gravity", "eulerdamp", "limit", "contact", "constraint", "frictionloss", "equality", "sensor")
        solver = ("warmstart", "refsafe", "filterparent", "island", "midphase", "nativeccd")
        values = {name: "disable" for name in smooth if self.chance(0.06)}
        values.update({name: "disable" for name in solver if self.chance(0.03)})
        values.update({name: "enable" for name in ("energy", "fwdinv", "override", "sleep") if self.chance(0.04)})
        return f"<flag {self.attributes(values | self.smooth.flags())}/>"
