"""What the server says, in English."""

from typing import Final

TEXTS: Final = {
    "support_ai_clarify": (
        "I found no answer to this question in the documents. "
        "Can you put it another way, with other words or a little more detail?"
    ),
    "support_suggest_escalation": (
        "I still have not found an answer in the documents. Someone from the team can help you."
    ),
    "support_offer_person": (
        "Someone from the team can take over this conversation. Press the button below; "
        "the assistant is silent afterwards."
    ),
    "support_clarify_connector": (
        "Where should I search?\n\n{options}\n\nReply with the number, 1 to {count}, or with the name."
    ),
    "support_clarify_search": (
        "Nothing found for “{terms}” on {service}. You can:\n\n{options}\n\nOr just write another search term."
    ),
    "support_clarify_search_term": "Nothing found for “{terms}” on {service}. Write another search term to try again.",
    "support_clarify_again": "I did not understand that choice. Reply with one number, 1 to {count}:\n\n{options}",
    "support_clarify_expired": "That question had expired; here it is again, 1 to {count}:\n\n{options}",
    "support_notice_not_ready": (
        "The assistant cannot be reached at the moment. Your message is kept; try again in a moment."
    ),
    "support_notice_budget_exhausted": "The assistant has reached its usage limit for now. Your message is kept.",
    "support_notice_provider": (
        "The service that writes the answers could not answer. Your message is kept; try again in a moment."
    ),
    "support_notice_input_too_large": "This conversation has become too long for the assistant: start a new one.",
    "support_notice_deadline": "The answer took too long and was given up. Your message is kept; try again.",
    "support_notice_failed": "The assistant could not answer. Your message is kept; try again in a moment.",
    "support_notice_interrupted": (
        "The answer was interrupted and cannot be resumed. Your message is kept; ask the question again."
    ),
    "support_notice_stopped": "Answer stopped at your request.",
    "support_notice_truncated": "This answer was cut before its end.",
    "support_ticket_opened": (
        "Your conversation has been passed to the team, and the assistant is silent from now on. "
        "You can keep writing here: someone will read it and answer."
    ),
    "support_ticket_taken_over": "{name} from the team has joined the conversation. The assistant is silent now.",
    "support_ticket_assigned": "{name} from the team is looking after your request.",
    "support_ticket_resolved": (
        "The team has marked this request as resolved. The assistant answers again; "
        "ask for a person whenever you need one."
    ),
    "support_ticket_reopened": "The team has taken this request up again. The assistant is silent.",
    "support_ticket_opened_for_staff": "The visitor asked for a person. The assistant is silent from now on.",
    "support_ticket_taken_over_for_staff": "{name} joined the conversation. The assistant is silent from now on.",
    "support_ticket_assigned_for_staff": "{name} looks after this ticket.",
    "support_ticket_resolved_for_staff": "Ticket resolved. The assistant answers the visitor again.",
    "support_ticket_reopened_for_staff": "Ticket reopened. The assistant is silent.",
    "support_notification_reply": "{name} from the team has answered you.",
    "support_notification_resolved": "Your request has been marked as resolved.",
    "support_notification_reopened": "Your request has been taken up again.",
    "support_notification_assigned": "{name} has given you a ticket: {title}",
}
