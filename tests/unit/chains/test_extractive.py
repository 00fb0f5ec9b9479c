"""`extractive`: quotes what answers, whole where it belongs together, and nothing that does not stand in a passage."""

from __future__ import annotations

import random
import re

import pytest

from ai_server.ledger.contract import Permit, Quote
from ai_server.providers.contract import (
    UNSUPPORTED_MARKER,
    Finished,
    GenerationRequest,
    Passage,
    ScoredSentence,
    TextDelta,
    UsageReport,
)
from ai_server.providers.embedded.blocks import Kind, blocks, sentences
from ai_server.providers.embedded.generation import MOST_PASSAGES, MOST_SENTENCES, ExtractiveGenerator, compose

PERMIT = Permit("r", "k", Quote("answer", "embedded", "extractive", "", "free", 0, metered=False))


def passage(text, *, number=1, scores=(), language="en", title="Page", heading="", quotable=True):
    scored = tuple(ScoredSentence(each, score) for each, score in scores)
    return Passage(f"[[c:00000{number}]]", title, heading, text, language, scored, quotable=quotable)


def ask(question, *passages, language="en"):
    return compose(GenerationRequest("extractive", "", (), question, passages, language, 1000))


EXPORT = passage("Exports are made in the settings. They are sent by mail within an hour.\nImports need a CSV file.")


def test_the_sentence_that_answers_is_quoted_with_its_marker():
    assert ask("How long until an export is sent?", EXPORT) == (
        "Exports are made in the settings. They are sent by mail within an hour. [[c:000001]]"
    )


def test_nothing_that_speaks_to_the_question_is_the_unsupported_marker_alone():
    assert ask("What is the capital of Mongolia?", passage("Soup is served at noon.")) == UNSUPPORTED_MARKER
    assert ask("What is the capital of Mongolia?") == UNSUPPORTED_MARKER


def test_closeness_of_meaning_counts_where_no_word_is_shared():
    """A question in another language than the document."""
    near = passage(
        "Les exports partent par courriel.", scores=[("Les exports partent par courriel.", 0.8)], language="fr"
    )
    assert ask("When will my data leave?", near, language="fr").startswith("Les exports partent par courriel.")


def test_what_may_not_be_quoted_is_not():
    assert ask("Which port is hidden?", passage("The hidden port is 42.", quotable=False)) == UNSUPPORTED_MARKER


def test_the_readers_language_is_preferred_where_it_answers_as_well():
    french = passage("L'export est envoyé par courriel.", number=1, language="fr")
    english = passage("The export is sent by mail.", number=2, language="en")
    assert "[[c:000002]]" in (said := ask("How is the export sent by mail?", french, english))
    assert "courriel" not in said


@pytest.mark.parametrize(
    ("reader", "said"),
    [
        ("es", "Solo he encontrado la respuesta en francés:\n\nL'export est envoyé par courriel. [[c:000001]]"),
        ("en", "I found the answer only in French:\n\nL'export est envoyé par courriel. [[c:000001]]"),
        ("fr", "L'export est envoyé par courriel. [[c:000001]]"),
        ("de", "I found the answer only in French:\n\nL'export est envoyé par courriel. [[c:000001]]"),
    ],
)
def test_an_answer_found_only_in_another_language_says_so_in_one_sentence(reader, said):
    """A newcomer's report: French text without remark for a Spanish question."""
    assert ask("Export ?", passage("L'export est envoyé par courriel.", language="fr"), language=reader) == said


def test_a_language_without_a_name_here_is_another_language():
    said = ask("Export ?", passage("Der Export kommt per Mail.", language="de"), language="fr")
    assert said.startswith("Je n’ai trouvé la réponse que dans une autre langue :\n\nDer Export")


def test_what_two_other_languages_say_is_quoted_in_one():
    """A newcomer's report: French and English quotes of the same sentence together, for a Spanish question."""
    french = passage("L'export est envoyé par courriel.", number=1, language="fr")
    english = passage("The export is sent by mail.", number=2, language="en")
    said = ask("¿Export?", french, english, language="es")
    assert len(re.findall(r"\[\[c:\d+\]\]", said)) == 1


def test_the_name_of_the_next_section_is_not_quoted():
    """A newcomer's report: small sections are joined in one passage, with their names as lines."""
    text = "Réparations\nUne crevaison coûte 12 euros.\nVélos électriques\nLa batterie coûte 350 euros."
    said = ask("Combien pour une crevaison ?", passage(text, language="fr"), language="fr")
    assert said == "Une crevaison coûte 12 euros. [[c:000001]]"


LONG = " ".join(["Many other things are told in this paragraph, so that it is not quoted whole."] * 4)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            f"{LONG} Economy mode ends every chain. It quotes the best sentences.",
            "Economy mode ends every chain. It quotes",
        ),
        (f"{LONG} Le mode économique reste. Il cite les phrases.", "Le mode économique reste. Il cite les phrases."),
        (f"{LONG} Queda el modo económico. Esto cita las frases.", "Queda el modo económico. Esto cita las frases."),
        (
            f"{LONG} Exports stay. They are kept. These quotes cost nothing.",
            "Exports stay. They are kept. These quotes",
        ),
        ("Exports stay for a week.\nThey quote the best sentences.", "Exports stay for a week.\n\nThey quote"),
    ],
)
def test_a_sentence_that_points_back_comes_with_the_one_it_points_at(text, told):
    """A newcomer's report: an answer that began with an orphaned "Il cite…"."""
    assert ask("quote quotes cite phrases cita frases best sentences", passage(text)).startswith(told)


def test_il_y_a_points_at_nothing_and_a_question_in_the_document_is_not_quoted():
    there_is = passage(f"{LONG} La page change. Il y a une exportation par mois.", language="fr")
    assert ask("exportation ?", there_is, language="fr").startswith("Il y a une exportation par mois.")
    asked = passage(f"What is an export?\nIt is a file. {LONG}")
    assert ask("Is an export a file?", asked).startswith("It is a file.")


def test_a_list_is_kept_together_with_the_line_that_introduces_it():
    text = (
        "Some words before.\nTo export your data:\n- open the settings\n- choose export\n- confirm by mail\nAfterwards."
    )
    said = ask("How do I export my data from settings?", passage(text))
    assert "To export your data:\n\n- open the settings\n- choose export\n- confirm by mail [[c:000001]]" in said


def test_a_command_comes_with_the_line_that_announces_it():
    text = "Install it first. Then start the server:\nmake run\nThe page opens by itself. Close it with Ctrl-C."
    assert "make run" in ask("How do I start the server?", passage(text))


def test_a_code_sample_is_never_cut_and_its_marker_stands_below_it():
    text = "Run this to start:\n```\nmake run\n\nmake stop\n```"
    assert ask("What do I run to start?", passage(text)).endswith("```\nmake run\n\nmake stop\n```\n\n[[c:000001]]")


def test_code_within_a_line_is_quoted_as_code_and_never_cut():
    words = "The server listens where its settings say, and it says so in the log when it starts. " * 4
    text = f"{words}It is started by `make run. Then wait` in the folder of the checkout. Nothing else is needed."
    assert "`make run. Then wait` in the folder" in ask("By what is the server started?", passage(text))


def test_samples_one_behind_the_other_are_two_and_a_long_one_is_closed_by_its_own_fence():
    first, second = "````\nmake run\n````", "```\nmake stop\n```"
    assert [block.text for block in blocks(f"{first}\n{second}")] == [first, second]
    long = "````\n" + "make run\n" * 40 + "````"
    assert ask("What is make run?", passage(long)).endswith("make run\n…\n````\n\n[[c:000001]]")


def test_what_looks_like_a_link_in_code_stays():
    text = "Write `[words](https://x.test)` to link. See [the guide](https://y.test):\n```\n![image](a.png)\n```"
    said = ask("How do I write words to link to the guide image?", passage(text))
    assert "`[words](https://x.test)`" in said
    assert "See the guide:" in said
    assert "```\n![image](a.png)\n```" in said


def test_a_table_that_holds_all_the_words_in_different_rows_does_not_beat_the_sentence_that_says_it():
    rows = ("Option | Meaning", "APP_LANG | language of the page", "MAIL_FROM | sender of a reset")
    more = ("CACHE_TIME | minutes that a password is kept", "AUTH_METHOD | how a person signs in")
    table = "\n".join(f"| {row} |" for row in (*rows, *more))
    prose = "The language is changed in the profile. A person resets the password by the link on the sign-in page."
    answer = ask("How does a person reset the password?", passage(table, number=1), passage(prose, number=2))
    assert answer.index("A person resets the password by the link") < (answer + "CACHE_TIME").index("CACHE_TIME")


def test_rows_of_cells_become_a_table_again():
    text = "Prices for each plan:\nPlan | Price\nFree | 0\nTeam | 12"
    said = ask("What is the price of the Team plan?", passage(text))
    assert "| Plan | Price |\n| --- | --- |\n| Free | 0 |\n| Team | 12 |" in said


def test_the_answer_is_bounded_and_says_nothing_twice():
    many = [passage(f"Export number {n} of the data export is a data export.\n" * 3, number=n) for n in range(1, 8)]
    same = [passage("The export is sent by mail.", number=n) for n in range(1, 4)]
    assert len(set(re.findall(r"\[\[c:\d+\]\]", ask("What is a data export?", *many)))) <= MOST_PASSAGES
    assert ask("How is the export sent?", *same).count("The export is sent by mail.") == 1


def test_a_heading_or_a_question_in_the_document_lifts_what_follows_it():
    text = "What is economy mode?\nIt quotes documents at no cost.\nOther things are described here too, at length."
    assert ask("What is economy mode?", passage(text)).startswith("It quotes documents at no cost.")


def test_links_and_images_of_a_document_do_not_become_links_of_the_answer():
    said = ask(
        "Where is the export guide?", passage("The export guide is [here](https://x.test/?leak=1) ![i](https://y).")
    )
    assert "https://" not in said
    assert "The export guide is here" in said


VOCABULARY = "export import data mail settings user page 12 été coût ¿qué? plan. server! - 1. | code"
WORDS = re.compile(r"\w+")


@pytest.mark.parametrize("seed", range(40))
def test_every_word_of_an_answer_stands_in_a_passage(seed):
    dice = random.Random(seed)
    vocabulary = VOCABULARY.split()
    passages = [
        passage("".join(dice.choice([" ", " ", "\n", ". "]) + dice.choice(vocabulary) for _ in range(60)), number=n)
        for n in range(1, 5)
    ]
    said = ask("export data settings plan", *passages)
    told = set(WORDS.findall(re.sub(r"\[\[.*?\]\]", "", said)))
    assert told <= set(WORDS.findall(" ".join(each.text for each in passages)))


async def test_it_streams_in_pieces_that_join_to_the_answer_and_reports_its_usage():
    request = GenerationRequest("extractive", "", (), "How long until an export is sent?", (EXPORT,), "en", 1000)
    events = [each async for each in ExtractiveGenerator().generate(request, PERMIT)]
    assert "".join(each.text for each in events if isinstance(each, TextDelta)) == compose(request)
    assert sum(isinstance(each, TextDelta) for each in events) > 1
    assert isinstance(events[-2], UsageReport)
    assert isinstance(events[-1], Finished)


def test_blocks_are_recognised_and_wrapped_paragraphs_joined():
    text = "# Title\nA wrapped\nparagraph ends.\n- one\n- two\n  more\na | b\n1 | 2\n```\ncode\n```\nmake run"
    kinds = [each.kind for each in blocks(text)]
    assert kinds == [Kind.HEADING, Kind.PARAGRAPH, Kind.LIST, Kind.TABLE, Kind.CODE, Kind.LABEL]
    assert "\n".join(each.text for each in blocks(text)) == text


def test_sentences_end_where_they_end():
    assert sentences("One. Two! «Trois.» Version 1.10 stays. e.g. this too") == [
        "One.",
        "Two!",
        "«Trois.»",
        "Version 1.10 stays. e.g. this too",
    ]
    assert MOST_SENTENCES >= MOST_PASSAGES


LEASE = "The rent is 640 euros a month.\nThe deposit is two months of rent.\nKeys are handed over on the first."


def sent(text, name="lease.pdf"):
    """A file that the person sent: no marker, nothing measured."""
    return Passage("", name, "", text, "", (), quotable=True)


def test_a_sent_file_answers_by_its_words_and_is_named_not_cited():
    assert ask("How much is the deposit?", sent(LEASE)) == "**lease.pdf**\n\nThe deposit is two months of rent."


def test_a_sent_file_does_not_answer_for_one_word_in_common():
    assert ask("Which months have the most rain in the mountains?", sent(LEASE)) == UNSUPPORTED_MARKER


def test_a_sent_file_that_answers_comes_before_documents_that_only_touch_the_question():
    touching = passage("A deposit may be asked for.", scores=[("A deposit may be asked for.", 0.3)])
    assert ask("How much is the deposit, in months of rent?", sent(LEASE), touching).startswith("**lease.pdf**")


@pytest.mark.parametrize(
    "question", ["Summarize this document", "De quoi parle ce fichier ?", "¿Qué dice este archivo?", "Résume-le stp"]
)
def test_asked_about_as_a_whole_a_file_is_shown_from_its_beginning(question):
    assert ask(question, sent(LEASE)).startswith("**lease.pdf**\n\nThe rent is 640 euros a month.")


def test_the_name_of_a_sent_file_is_no_markup():
    said = ask("How much is the deposit?", sent(LEASE, name="a*b_[x](y).pdf"))
    assert said.startswith("**a\\*b\\_\\[x\\](y).pdf**")
