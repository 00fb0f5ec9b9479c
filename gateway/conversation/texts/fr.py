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
}
