"""Configurations of the pack: `prod` is what it does by itself, `dev` advises where nothing would break."""

import json
from typing import Final, Literal

from gpufabric.policy.rules import RULES

Preset = Literal["dev", "prod"]
PRESETS: Final[tuple[Preset, ...]] = ("dev", "prod")
_DEV_SETTINGS: Final = {"budget": {"most_gpus": 16, "most_usd_per_hour": 250}}


def preset(name: Preset) -> str:
    """The JSON for ``--policy-pack-config``: the level of every rule, and the settings that differ from the defaults."""
    config: dict[str, object] = {}
    for each in RULES:
        level = each.dev if name == "dev" else each.prod
        config[each.name] = {"enforcementLevel": level, **(_DEV_SETTINGS.get(each.name, {}) if name == "dev" else {})}
    return json.dumps(config, indent=2) + "\n"
