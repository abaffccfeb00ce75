from .bots import (
    LONGEST_NAME as LONGEST_NAME,
    Bot as Bot,
    BotFile as BotFile,
    TraitTable as TraitTable,
    bot_of_player as bot_of_player,
    forget_modules as forget_modules,
    import_path as import_path,
    load_bot as load_bot,
    make_importable as make_importable,
    name_to_load as name_to_load,
    named_modules as named_modules,
    with_defaults as with_defaults,
)
from .data_files import (
    DataPath as DataPath,
    data_paths as data_paths,
    name_of_file as name_of_file,
    replaced_paths as replaced_paths,
)
from .files import (
    holds as holds,
    look_up as look_up,
    places as places,
    read as read,
    shipped as shipped,
    shipped_folder as shipped_folder,
    short as short,
)
from .load import (
    Config as Config,
    load_config as load_config,
    load_play as load_play,
    setting_fields as setting_fields,
    variables as variables,
)
from .maps import (
    RANDOM as RANDOM,
    load_map as load_map,
    map_text as map_text,
    standard_maps as standard_maps,
)
from .messages import (
    dotted as dotted,
    explain as explain,
    shown as shown,
)
from .settings import (
    LogSettings as LogSettings,
    Nodes as Nodes,
    NoneWord as NoneWord,
    OptionalFile as OptionalFile,
    PlaySettings as PlaySettings,
    PoolSettings as PoolSettings,
    RecordingSettings as RecordingSettings,
    Seed as Seed,
    Settings as Settings,
    WorkerCount as WorkerCount,
    cores as cores,
    none_word as none_word,
)
from .signature import (
    Build as Build,
    bot_digest as bot_digest,
    build as build,
    digest_of as digest_of,
    file_digest as file_digest,
)
from .tables import flat as flat
from .trait_spec import TraitSpec as TraitSpec
