"""P36, DESIGN section 4 (Clarification), CASES H6 and H8: replies are read by a closed grammar."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from gateway.conversation.clarification import (
    AskAgain,
    NewMessage,
    NewTerm,
    Option,
    OtherService,
    Reading,
    Selected,
    read_search_reply,
    read_service_reply,
)
from tests.data.clarification_replies import REPLIES, SEARCH, SERVICES, TWINS

JELLYFIN = Option.of(
    {
        "fr": "Jellyfin – films, séries, musique",
        "en": "Jellyfin – films, series, music",
        "es": "Jellyfin – películas, series, música",
    },
    "jellyfin",
    "home",
)
NEXTCLOUD = Option.of(
    {"fr": "Nextcloud – fichiers, documents", "en": "Nextcloud – files, documents"}, "nextcloud", "famille"
)
GITHUB = Option.of({"fr": "GitHub – dépôts, tickets", "en": "GitHub – repositories, issues"}, "github", "travail")
OPTIONS = {
    SERVICES: [JELLYFIN, NEXTCLOUD, GITHUB],
    TWINS: [
        Option.of({"fr": "Nextcloud famille – fichiers"}, "nextcloud", "famille"),
        Option.of({"fr": "Nextcloud travail – fichiers"}, "nextcloud", "travail"),
        Option.of(
            {"fr": "Documentation – pages d'aide", "en": "Documentation", "es": "Documentación – páginas de ayuda"}
        ),
    ],
}


def read(question: str, reply: str, *, asked_again: bool = False) -> Reading:
    if question == SEARCH:
        return read_search_reply(reply, ["xenomorph", "awakening"], [NEXTCLOUD, GITHUB], asked_again=asked_again)
    return read_service_reply(reply, OPTIONS[question], asked_again=asked_again)


def said(reading: Reading) -> str:
    match reading:
        case Selected(index):
            return str(index + 1)
        case NewTerm(term):
            return f"term:{term}"
        case OtherService(None):
            return "other"
        case OtherService(index):
            return f"service:{index + 1}"
        case AskAgain():
            return "again"
        case NewMessage():
            return "new"


def is_choice(word: str) -> bool:
    return word.isdigit() or word == "other" or word.startswith("service:")


def test_the_table_has_300_different_rows_in_three_languages():
    assert len(REPLIES) == len({(question, language, reply) for question, language, reply, _ in REPLIES}) >= 300
    assert min(Counter(language for _, language, *_ in REPLIES)[language] for language in ("fr", "en", "es")) >= 80


@pytest.mark.parametrize("asked_again", [False, True])
def test_no_reply_of_the_table_selects_what_was_not_meant(asked_again):
    false = [
        (question, reply[:60], expected, answer)
        for question, _, reply, expected in REPLIES
        if is_choice(answer := said(read(question, reply, asked_again=asked_again))) and answer != expected
    ]
    assert false == []


def test_at_most_one_meant_choice_in_fifty_is_missed():
    meant = [(question, reply, expected) for question, _, reply, expected in REPLIES if is_choice(expected)]
    missed = [
        (reply, said(read(question, reply)))
        for question, reply, expected in meant
        if said(read(question, reply)) != expected
    ]
    assert len(missed) <= len(meant) // 50, missed


def test_what_is_no_choice_is_read_as_the_table_says():
    others = [row for row in REPLIES if not is_choice(row[3])]
    wrong = [
        (q, reply[:60], expected, said(read(q, reply)))
        for q, _, reply, expected in others
        if said(read(q, reply)) != expected
    ]
    assert wrong == []


def test_a_second_unclear_reply_is_an_ordinary_message():
    assert read(SERVICES, "1 ou 2", asked_again=True) == NewMessage()
    assert read(SERVICES, "7", asked_again=True) == NewMessage()
    assert read(SEARCH, "1 ou 2", asked_again=True) == NewMessage()
    assert read(SERVICES, "2", asked_again=True) == Selected(1)


def test_a_number_out_of_range_twice_is_meant_as_a_term():
    assert read(SEARCH, "12") == AskAgain()
    assert read(SEARCH, "12", asked_again=True) == NewTerm("12")


def test_without_another_service_the_number_after_the_words_is_out_of_range():
    assert read_search_reply("3", ["xenomorph", "awakening"], []) == AskAgain()
    assert read_search_reply("ailleurs", ["xenomorph"], []) == NewTerm("ailleurs")


def test_a_one_word_search_offers_only_the_other_service():
    assert read_search_reply("1", [], [NEXTCLOUD]) == OtherService()
    assert read_search_reply("2", [], [NEXTCLOUD]) == AskAgain()


def test_option_n_plus_one_can_be_chosen():
    """DESIGN section 9: the source system could not select its own last suggestion."""
    assert read_search_reply("3", ["xenomorph", "awakening"], [NEXTCLOUD]) == OtherService()


def test_a_reply_with_one_unknown_word_never_selects():
    """Any choice that is made part of a longer sentence stops being one; seeds 0 to 1,999."""
    meant = [(q, reply) for q, _, reply, expected in REPLIES if expected.isdigit() and q != SEARCH]
    for seed in range(2_000):
        dice = random.Random(seed)
        question, reply = dice.choice(meant)
        word = "".join(dice.choices("bcdfghjklmnpqrstvwz", k=dice.randint(4, 9)))
        sentence = f"{word} {reply}" if dice.random() < 0.5 else f"{reply} {word}"
        assert isinstance(read(question, sentence), NewMessage), sentence


def test_any_text_is_read_without_failing():
    """Seeds 0 to 3,000: signs of every plane, digits of many scripts, half surrogates, controls."""
    alphabet = "0123456789①２➂٣१½²𝟙🔟1️⃣⃣ °ºª#n.,;:/()-–?¿'\"«»\u200b\u202e\x00\ud800eéE"
    for seed in range(3_000):
        dice = random.Random(seed)
        reply = "".join(dice.choices(alphabet, k=dice.randint(0, 12)))
        for question in (SERVICES, TWINS, SEARCH):
            said(read(question, reply))


def test_twenty_options_can_be_chosen_by_number():
    options = [Option((f"service{number}x",)) for number in range(1, 21)]
    assert [read_service_reply(str(number), options) for number in range(1, 21)] == [Selected(at) for at in range(20)]
    assert read_service_reply("⑳", options) == Selected(19)
