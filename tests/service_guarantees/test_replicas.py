"""Three replicas on one PostgreSQL, one killed in the middle: the counts of a single replica.

An arm is drawn with a keyed hash of subject and round, and the rewards here follow from subject,
round and arm; so with the same secret both runs must end in the same states, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.service_guarantees.check_database import (
    check_nothing_lost,
    check_state_is_replay,
    copy_seed,
)
from tests.service_guarantees.conftest import EXPERIMENT, create
from tests.service_guarantees.load import Load
from tests.service_guarantees.servers import Launcher, wait_until

WORKERS = 6
STEPS = 60


def test_three_replicas_of_which_one_dies_count_like_one(
    launch: Launcher, new_database: Callable[[str], str]
) -> None:
    one, three = new_database("postgresql"), new_database("postgresql")
    single = launch.start("--db", one, "--insecure")
    arms = list(create(single).arms)
    alone = Load([single.url], None, EXPERIMENT, WORKERS, STEPS).finish(stop=False)
    single.stop()

    first = launch.start("--db", three, "--insecure")
    create(first)
    first.stop()
    copy_seed(one, three)
    replicas = [launch.start("--db", three, "--insecure") for _ in range(3)]
    load = Load([replica.url for replica in replicas], None, EXPERIMENT, WORKERS, STEPS, held=True)
    wait_until(lambda: load.decided() > WORKERS * STEPS / 2, 300.0, "half of the work")
    replicas[1].kill()
    load.last_step.set()  # on a busy machine all others might be done by now
    together = load.finish(stop=False)
    for replica in replicas:
        replica.stop()

    # Workers begin at different addresses, so some of them were cut off.
    assert sum(worker.rejections for worker in load.workers) >= 1
    assert len(alone.decisions) == len(together.decisions) == WORKERS * STEPS
    for database, done in ((one, alone), (three, together)):
        check_nothing_lost(database, done, arms)
    counted = check_state_is_replay(one, len(arms))
    assert counted == check_state_is_replay(three, len(arms))
    assert {key: made.arm for key, made in alone.decisions.items()} == {
        key: made.arm for key, made in together.decisions.items()
    }
