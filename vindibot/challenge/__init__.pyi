from .command import challenge as challenge
from .settings import ChallengeSettings as ChallengeSettings
