"""`problems` and `policies` list what `simulate` takes."""

import json
from collections.abc import Callable

import structuredbandits as sb
from structuredbandits.policies.bibtex import bibtex, policy_entries
from tests.cli.conftest import Ended


def test_every_problem_is_listed(call: Callable[..., Ended]) -> None:
    ended = call("problems")
    assert (ended.code, ended.err) == (0, "")
    listed = [line.split()[0] for line in ended.out.splitlines() if line.strip()]
    assert set(sb.problem_names()) <= set(listed)
    assert "0, 0.25, 0.5, 0.75 and 17 more" in " ".join(ended.out.split())


def test_problems_as_json(call: Callable[..., Ended]) -> None:
    rows = json.loads(call("problems", "--json").out)
    assert [row["name"] for row in rows] == list(sb.problem_names())
    (pricing,) = [row for row in rows if row["name"] == "pricing"]
    assert pricing["arms"] == 8
    assert pricing["thetas"] == ["49", "62", "84", "115"]


def test_every_base_policy_has_a_line(call: Callable[..., Ended]) -> None:
    ended = call("policies")
    assert (ended.code, ended.err) == (0, "")
    starts = [line.split()[0].split("(")[0] for line in ended.out.splitlines() if line.strip()]
    whole = {name for name in sb.policy_names() if sb.make_algorithm(name).name == name}
    assert whole <= set(starts)
    assert {"-c", "-c-kl", "-c-entropy", "-c-differential", "-c-random"} <= set(starts)


def test_policies_as_json_can_be_made(call: Callable[..., Ended]) -> None:
    rows = json.loads(call("policies", "--json").out)
    assert [row["name"] for row in rows] == list(sb.policy_names())
    for row in rows:
        algorithm = sb.make_algorithm(row["name"])
        assert (row["code"], row["classical"]) == (repr(algorithm), algorithm.classical)


def test_the_papers_behind_the_policies_as_bibtex(call: Callable[..., Ended]) -> None:
    ended = call("policies", "--bibtex")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.strip() == bibtex()
    assert ended.out.count("{") == ended.out.count("}")
    assert ended.out.count("@") == len(policy_entries())
    assert "% crop\n@inproceedings{jun2020crush," in ended.out


def test_the_suffixes_are_all_explained(call: Callable[..., Ended]) -> None:
    """A new suffix in the library would be missing in the list."""
    text = call("policies").out
    for name in sb.policy_names():
        if name.startswith("ucb-c"):
            assert name.removeprefix("ucb") in text
