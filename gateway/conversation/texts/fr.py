"""Ce que le serveur dit, en français."""

from typing import Final

TEXTS: Final = {
    "support_ai_clarify": (
        "Je n’ai pas trouvé de réponse à cette question dans les documents. "
        "Pouvez-vous la reformuler, avec d’autres mots ou un peu plus de détails ?"
    ),
    "support_suggest_escalation": (
        "Je n’ai toujours pas trouvé de réponse dans les documents. Une personne de l’équipe peut vous aider."
    ),
    "support_offer_person": (
        "Une personne de l’équipe peut reprendre cette conversation. Appuyez sur le bouton ci-dessous ; "
        "l’assistant se tait ensuite."
    ),
    "support_clarify_connector": (
        "Où faut-il chercher ?\n\n{options}\n\nRépondez avec le numéro ou le nom, de 1 à {count}."
    ),
    "support_clarify_search": (
        "Aucun résultat pour « {terms} » sur {service}. Vous pouvez :\n\n{options}\n\n"
        "Ou écrivez directement un autre terme de recherche."
    ),
    "support_clarify_search_term": (
        "Aucun résultat pour « {terms} » sur {service}. Écrivez un autre terme de recherche pour réessayer."
    ),
    "support_clarify_again": (
        "Je n’ai pas compris ce choix. Répondez avec un seul numéro, de 1 à {count} :\n\n{options}"
    ),
    "support_clarify_expired": "Cette question avait expiré ; la voici de nouveau, de 1 à {count} :\n\n{options}",
    "support_notice_not_ready": (
        "L’assistant n’est pas joignable pour le moment. Votre message est conservé ; réessayez dans un instant."
    ),
    "support_notice_budget_exhausted": (
        "L’assistant a atteint sa limite d’utilisation pour le moment. Votre message est conservé."
    ),
    "support_notice_provider": (
        "Le service qui rédige les réponses n’a pas pu répondre. "
        "Votre message est conservé ; réessayez dans un instant."
    ),
    "support_notice_input_too_large": (
        "Cette conversation est devenue trop longue pour l’assistant : commencez-en une nouvelle."
    ),
    "support_notice_deadline": (
        "La réponse a pris trop de temps et a été abandonnée. Votre message est conservé ; réessayez."
    ),
    "support_notice_failed": "L’assistant n’a pas pu répondre. Votre message est conservé ; réessayez dans un instant.",
    "support_notice_interrupted": (
        "La réponse a été interrompue et ne peut pas être reprise. "
        "Votre message est conservé ; posez la question de nouveau."
    ),
    "support_notice_stopped": "Réponse arrêtée à votre demande.",
    "support_notice_truncated": "Cette réponse a été coupée avant la fin.",
    "support_ticket_opened": (
        "Votre conversation a été transmise à l’équipe, et l’assistant se tait désormais. "
        "Vous pouvez continuer à écrire ici : quelqu’un vous lira et vous répondra."
    ),
    "support_ticket_taken_over": "{name}, de l’équipe, a rejoint la conversation. L’assistant se tait désormais.",
    "support_ticket_assigned": "{name}, de l’équipe, s’occupe de votre demande.",
    "support_ticket_resolved": (
        "L’équipe a marqué cette demande comme résolue. L’assistant répond de nouveau ; "
        "demandez une personne quand vous en avez besoin."
    ),
    "support_ticket_reopened": "L’équipe a repris cette demande. L’assistant se tait.",
    "support_ticket_opened_for_staff": "Le visiteur a demandé une personne. L’assistant se tait désormais.",
    "support_ticket_taken_over_for_staff": "{name} a rejoint la conversation. L’assistant se tait désormais.",
    "support_ticket_assigned_for_staff": "{name} s’occupe de ce ticket.",
    "support_ticket_resolved_for_staff": "Ticket résolu. L’assistant répond de nouveau au visiteur.",
    "support_ticket_reopened_for_staff": "Ticket rouvert. L’assistant se tait.",
    "support_notification_reply": "{name}, de l’équipe, vous a répondu.",
    "support_notification_resolved": "Votre demande a été marquée comme résolue.",
    "support_notification_reopened": "Votre demande a été reprise.",
    "support_notification_assigned": "{name} vous a confié un ticket : {title}",
}
