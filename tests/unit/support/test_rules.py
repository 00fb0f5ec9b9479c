"""The pure rules of tickets, presence and grouping (DESIGN §4)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gateway.conversation import escalation
from gateway.conversation.escalation import Ticket, TicketState
from gateway.conversation.grouping import Asked, group
from gateway.conversation.model import Role
from gateway.conversation.presence import Status, absent, declare, settle
from gateway.conversation.texts import CATALOGUES
from gateway.conversation.unread import counted_role, id_of, kind_of, staff_reader, visitor_reader
from shared.errors import FailedPrecondition

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=5)


def ticket(state=TicketState.OPEN, assignee=None):
    resolved = NOW if state is TicketState.RESOLVED else None
    return Ticket("t", "demo", "c", "v", state, assignee, 3, NOW, NOW, resolved)


def test_assigning_takes_a_ticket_into_progress():
    now = escalation.assign(ticket(), "ana", LATER)
    assert (now.state, now.assignee_id, now.updated_at) == (TicketState.IN_PROGRESS, "ana", LATER)


def test_the_first_reply_assigns_and_later_ones_do_not():
    first = escalation.reply(ticket(), "ana", LATER)
    assert (first.state, first.assignee_id) == (TicketState.IN_PROGRESS, "ana")
    assert escalation.reply(first, "ben", LATER).assignee_id == "ana"


@pytest.mark.parametrize("act", [escalation.assign, escalation.reply])
def test_a_resolved_ticket_must_be_reopened_first(act):
    with pytest.raises(FailedPrecondition, match="reopen"):
        act(ticket(TicketState.RESOLVED, "ana"), "ana", LATER)


def test_an_open_ticket_may_resolve_and_a_resolved_one_stays():
    resolved = escalation.resolve(ticket(), LATER)
    assert (resolved.state, resolved.resolved_at) == (TicketState.RESOLVED, LATER)
    assert escalation.resolve(resolved, LATER + timedelta(hours=1)) is resolved


@pytest.mark.parametrize(
    ("assignee", "active", "state", "kept"),
    [
        ("ana", True, TicketState.IN_PROGRESS, "ana"),
        ("ana", False, TicketState.OPEN, None),
        (None, False, TicketState.OPEN, None),
    ],
)
def test_reopening_returns_to_whoever_still_works_here(assignee, active, state, kept):
    now = escalation.reopen(ticket(TicketState.RESOLVED, assignee), LATER, assignee_is_active=active)
    assert (now.state, now.assignee_id, now.resolved_at) == (state, kept, None)


def test_reopening_an_open_ticket_changes_nothing():
    known = ticket()
    assert escalation.reopen(known, LATER, assignee_is_active=True) is known


def test_each_side_counts_the_messages_of_the_other():
    assert counted_role(visitor_reader("1")) is Role.ADMIN
    assert counted_role(staff_reader("1")) is Role.USER
    assert (kind_of(staff_reader("1")), id_of(staff_reader("1"))) == ("staff", "1")


def said(known, **changes):
    facts = {"chosen": Status.ONLINE, "product": None, "consent": False, "telemetry": None, **changes}
    return declare(known, now=LATER, **facts)


def test_telemetry_lives_only_under_consent():
    consenting = said(absent("visitor:1", "demo", NOW), consent=True, telemetry={"os": "Linux"})
    assert consenting.telemetry == {"os": "Linux"}
    assert said(consenting, consent=True).telemetry == {"os": "Linux"}
    assert said(consenting, telemetry={"os": "BSD"}).telemetry is None
    assert said(said(consenting), consent=True).telemetry is None


def test_status_is_what_was_chosen_while_a_stream_is_held_and_offline_without():
    away = said(absent("visitor:1", "demo", NOW), chosen=Status.AWAY, product="Pro")
    here = settle(away, 1, LATER)
    assert (here.seen, here.product) == (Status.AWAY, "Pro")
    gone = settle(here, 0, LATER)
    assert (gone.seen, gone.product, gone.chosen) == (Status.OFFLINE, None, Status.AWAY)
    assert settle(gone, 0, LATER) is gone


def asked(text, cause="insufficient", minutes=0):
    return Asked(text, cause, f"turn-{minutes}", "c", "fr", NOW + timedelta(minutes=minutes))


def test_the_same_question_in_other_words_is_one_group_the_most_asked_first():
    groups = group(
        [
            asked("Comment annuler ma commande ?", minutes=1),
            asked("Annuler une commande", "escalated", 2),
            asked("annuler des commandes", minutes=3),
            asked("Quel est le prix de la livraison ?", minutes=9),
            asked("How do I reset my password?", minutes=4),
            asked("reset password please", minutes=5),
        ]
    )
    found = [(each.count, each.insufficient_count, each.escalated_count, each.text) for each in groups]
    assert found == [
        (3, 2, 1, "annuler des commandes"),
        (2, 2, 0, "reset password please"),
        (1, 1, 0, "Quel est le prix de la livraison ?"),
    ]
    assert groups[0].examples[0].turn_id == "turn-3"


def test_questions_of_stop_words_alone_do_not_all_fall_together():
    assert len(group([asked("Pourquoi ?"), asked("Comment ?", minutes=1), asked("", minutes=2)])) == 3


def test_every_text_about_tickets_names_the_same_parameters_in_each_language():
    import string

    def parameters(text):
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    keys = [key for key in CATALOGUES["en"] if key.startswith(("support_ticket_", "support_notification_"))]
    assert len(keys) == 14
    for key in keys:
        assert len({frozenset(parameters(texts[key])) for texts in CATALOGUES.values()}) == 1, key
